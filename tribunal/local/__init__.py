"""`tribunal up`: an embedded Valkey, one worker process per judge, an aggregator, and their supervisor."""

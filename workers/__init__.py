"""Judges at work: the task, the runtime around a judge, and the judges that come with Tribunal."""

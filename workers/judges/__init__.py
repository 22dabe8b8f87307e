"""The judges that come with Tribunal, and how they read drafts, memory and workspaces."""

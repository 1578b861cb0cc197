"""Memory: preferences, episodes, style samples, working memory and the writer's profile (mem-1…5)."""

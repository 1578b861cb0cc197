"""Skills: what the model is asked to do this time, and in which role."""

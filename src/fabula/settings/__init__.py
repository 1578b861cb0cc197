"""What may be set: budgets and settings, of a project and of a person."""

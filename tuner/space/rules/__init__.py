"""Rules: what each kind of loop nest offers to the search. One rule, one file."""

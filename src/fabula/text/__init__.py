"""What can be known of a text by itself: its tokens, paragraphs, sentences, names."""

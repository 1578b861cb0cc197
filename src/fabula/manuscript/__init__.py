"""The manuscript: projects, documents and their revisions, the outline, and synopses of chapters."""

from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from fabula.manuscript.model import Direction, Document, Manuscript

__all__ = ["Direction", "Document", "DocumentDraft", "DocumentKind", "Manuscript", "ManuscriptDraft"]

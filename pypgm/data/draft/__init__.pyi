from pypgm.data.draft.draft import draft_schema as draft_schema
from pypgm.data.draft.questions import answered as answered
from pypgm.data.draft.questions import questions_of as questions_of

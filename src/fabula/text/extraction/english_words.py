"""English word lists for name extraction, all in lower case.

The lists hold what statistics of one book cannot tell: that March is a month, that Captain is a title and that "said"
is something people do.
"""

from __future__ import annotations

from fabula.text.word_list import make_word_set

MEN_TITLES = make_word_set(
    "mr mister sir lord king prince count duke baron earl marquis emperor tsar czar father brother uncle monsieur "
    "m messrs señor signor herr don abbé abbe pope bishop friar deacon grandfather squire"
)
WIVES_TITLES = make_word_set("mrs madame mme missis mistress señora signora frau lady dame")
UNMARRIED_TITLES = make_word_set("miss mademoiselle mlle señorita signorina fräulein")
WOMEN_TITLES = make_word_set(
    "queen princess countess duchess baroness marchioness empress tsarina aunt sister mother grandmother nurse"
)
NEUTRAL_TITLES = make_word_set(
    "dr doctor captain capt cap’n general colonel col major lieutenant lieut sergeant corporal admiral commodore "
    "commander commissar marshal professor prof judge governor president senator reverend rev saint st elder "
    "chief inspector detective officer private cardinal archbishop cousin master mate"
)
TITLES = MEN_TITLES | WIVES_TITLES | UNMARRIED_TITLES | WOMEN_TITLES | NEUTRAL_TITLES
ABBREVIATED_TITLES = make_word_set("mr mrs dr st m mme mlle capt col rev prof lieut")
NAME_PARTICLES = make_word_set("de von van der den du la le di da del della d’ al el bin ibn ap y")

CAPITALISED_WORDS = make_word_set(
    # calendar and compass
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday christmas easter lent michaelmas sabbath "
    "north south east west northern southern eastern western "
    # religion
    "god gods lord lords christ jesus heaven heavens hell devil almighty providence creator saviour savior messiah "
    "goddess satan deity amen hallelujah bible scripture scriptures gospel testament koran holy ghost spirit trinity "
    "virgin madonna "
    # peoples, faiths and languages
    "english englishman englishmen french frenchman frenchmen german germans russian russians american americans "
    "italian italians spanish spaniard spaniards dutch dutchman dutchmen scotch scottish scot irish irishman welsh "
    "british briton britons european europeans asian african africans indian indians chinese chinaman japanese "
    "polish pole poles austrian austrians prussian prussians swedish swede swedes danish dane danes norwegian finn "
    "turk turks turkish arab arabs arabian persian persians greek greeks roman romans egyptian egyptians hebrew "
    "hebrews jew jews jewish christian christians christianity christendom catholic catholics protestant protestants "
    "quaker quakers quakerish presbyterian puritan puritans pagan mohammedan muslim muslims islam buddhist hindu "
    "latin parisian londoner yankee yankees negro negroes tartar tartars cossack cossacks gypsy gypsies malay malays "
    "portuguese mexican mexicans canadian australian norman saxon gothic "
    # forms of address and persons in general
    "sir sirs madam ma’am dear mamma mama papa mother father mom mum dad daddy mommy mummy grandma grandpa granny "
    "gentleman gentlemen ladies majesty excellency highness honour honor lordship ladyship grace boy girl man woman "
    "misses messieurs mon ami "
    # parts of a book
    "chapter book part volume preface epilogue prologue contents appendix introduction note illustration gutenberg "
    "project ebook act scene exit enter exeunt stage "
    # words that begin sentences and titles
    "i i’m i’ll i’ve i’d it’s that’s there’s he’s she’s you’re we’re they’re don’t can’t won’t "
    "what’s who’s let’s o’clock "
    "a an the and but or nor for so yet if then when while where who whom whose which what why how "
    "this that these those there here he she it we you they him her his its our your their my me us them not no yes "
    "oh ah aye ay alas lo hark hush hallo hello hullo hurrah hey ha ho well now never ever all some any each every "
    "one two three first second third last next such as at by in on of to from with without upon into after before "
    "is are was were be been do does did have has had will would shall should may might can could must let "
    "good great little old young poor dear new your ye thou thee thy thine o"
)

# of the words above, those that are names as well
WORDS_THAT_ARE_NAMES = make_word_set("will may june april august grace young christian norman finn dane roman irish")

SPEECH_VERBS = make_word_set(
    "said says say cried cries replied replies asked asks answered answers exclaimed muttered murmured whispered "
    "shouted returned added continued observed remarked thought declared demanded repeated began responded inquired "
    "enquired interrupted suggested agreed laughed sighed growled snapped roared called screamed yelled rejoined "
    "interposed ejaculated admitted insisted explained told protested mumbled sobbed went quoth spoke"
)
ACTION_WORDS = make_word_set(
    "looked looks turned nodded smiled frowned shrugged blushed knew felt saw heard wanted wished hoped wondered "
    "remembered forgot understood believed decided took gave held put got came walked ran rose sat stood stopped "
    "paused hesitated glanced stared gazed listened leaned bowed kissed embraced wept grinned shook opened closed "
    "entered left followed seemed rode drew sprang jumped started stepped seized "
    "moved lifted raised lowered placed pointed himself herself who whom tried liked loved hated"
)
POSSESSIONS = make_word_set(
    "face eyes eye hand hands voice heart head arm arms mind wife husband father mother brother sister son daughter "
    "lips mouth hair shoulder shoulders soul words look smile room brow cheek cheeks leg legs feet foot feelings "
    "thoughts manner expression tone back side death"
)
AUXILIARIES = make_word_set("had was is has did does would could will")
PLACE_PREPOSITIONS = make_word_set(
    "in at into near throughout within reached around across toward towards outside inside"
)
DIRECTION_PREPOSITIONS = make_word_set("from to through via leaving visiting")
DETERMINERS = make_word_set("the a an this that these those every each no any some another its our their")
PLACE_NOUNS = make_word_set(
    "street road square lane avenue bridge hall house castle palace park river lake sea ocean bay cape island islands "
    "isle mountain mount mountains hill hills valley city town village port harbour harbor fort station court inn "
    "tavern church cathedral abbey school university college county forest wood woods gate tower straits strait "
    "coast pacific atlantic desert gulf point creek falls canal"
)
GROUP_NOUNS = make_word_set(
    "company army guild order society committee league council club regiment division corps brotherhood house "
    "brigade party union ministry bank house family clan tribe empire republic"
)

package catalog

import (
	"slices"
	"strings"
	"sync"
)

// thesaurus has words that stand for each other when people ask for something, a group in
// a line. It covers operations, and what tools are commonly about; an app declares its own
// as aliases. A word may be in several groups, and means the words of all of them.
const thesaurus = `
create upsert add insert make save store register put write
create open start
delete remove erase discard drop forget cancel
change update edit modify patch set correct
list collection find search browse show
find search lookup locate
get read fetch load retrieve open
count number many
aggregate sum total average statistics report
due deadline expire
price cost
quantity amount stock
customer client contact
person people user member someone everybody everyone
user account profile
buy purchase
mail email inbox
photo picture image
screenshot picture photo capture
phone telephone
note comment remark
start begin
done complete finish close
task todo reminder chore
kind type category
place location where venue restaurant shop
status state
name title
status check pass fail
send post notify announce inform share
message chat say word
channel team room group
reply answer respond accept decline
react reaction emoji thumb
issue bug ticket defect problem crash
event meeting appointment calendar schedule agenda
time clock hour minute
free busy available availability freebusy
drive route direction travel walk distance far
near nearby local around close
web internet online news google
page site website browser
folder directory
file document
rename move
row record entry line
table sheet spreadsheet
column field property
elevation height high altitude
coordinate geocode latitude longitude address
copy fork duplicate clone
repository repo project
request pr review
code source function
click press button
form field fill
link url address
go visit navigate open
hidden secret private
remember memory observation fact knowledge
history past log
upload attach attachment
sql query database
big large size
swap replace substitute edit
trash bin delete
paint draw generate picture image
traffic visitor visit analytics usage metric statistics
chart graph plot
join member add
assign give responsible owner assignee
join member collaborator participant attendee guest
collaborator share people user
rename name title
undo revert restore reopen
reopen open
plus minus add subtract sum calculate compute math multiply divide
translate language
summarize summary
write draft compose
doc document page note wiki article
spreadsheet sheet cell range
company organization business
deal opportunity sale lead
invoice bill payment charge pay
refund payback return
order purchase
flight hotel trip booking reservation book
weather forecast temperature rain
card task ticket issue item
board project
sprint cycle iteration milestone
epic story feature
label tag
build pipeline ci job
deploy deployment release publish ship
log error trace exception
alert incident outage
bucket object storage
key value
domain zone dns
employee staff colleague worker user
vacation leave holiday absence
progress status update
subscribe follow watch
unsubscribe unfollow
block ban
allow permit permission access grant invite share
password secret credential
video audio recording media
music song track
movie film video
convert export transform
import load
sort order
filter narrow
schedule plan
postpone delay reschedule move
overdue late due
priority urgent important
parent child sub nested
link relate connect associate association relation
test run execute
stop end cancel halt
pause suspend
resume continue
answer know
`

// everyday has words of people, and the words of tools that they stand for, both in a line
// each; the words of tools do not stand for them.
const everyday = `
axe bin chuck clear ditch dump erase junk kill lose nuke purge scrap toss trash wipe zap: delete remove
cancelled rid strip uninstall unneeded: delete remove
detach disconnect unlink: remove delete
unlearn: delete
abort exit quit shut: close stop
decline dismiss ignore refuse reject: close decline
bring carry drag migrate relocate shift stash transfer tuck: move
relabel retitle call: rename update
adjust alter amend bump correct fix modify refresh revise rewrite reword rework swap switch tune tweak: update edit
append attach enter include insert pop put stick tack: add create
jot log note record scribble: add create comment
begin compose craft draft establish found generate introduce launch prepare produce spin: create
arrange book organize plan reserve slot: create event schedule
announce broadcast dm holler message notify nudge ping poke shout text: send post message
mail forward: send message email
inform tell update: send post message
feedback mention opinion thought criticism annotate remark said: comment
allocate delegate entrust hand pass: assign update
discover dig hunt locate look scan seek spot trace track: find search
check display glance inspect peek preview see view: get show list
open quote recite skim view: read get
collect download extract grab obtain: get read
all available enumerate everything existing overview: list
kept keep know learned mind recall remembered: remember memory entity search
memorize keep: remember observation create
compress shrink squash squeeze archive: compress gzip zip
decompress unpack unzip: extract
export keep persist store: save write create
accomplish achieve: complete
cross finish tick wrap: complete close
revert undo: restore reopen
pause until: wait
hit tap push: click press
choose pick tick: select
key write: type fill
browse head load surf visit: navigate open
previous: back
photograph shoot snap: screenshot
google headline happening latest research won: news web search
subfolder subdirectory dir: directory folder
hierarchy nested structure subfolder subdirectory: tree
computer desktop disk drive laptop machine path: file directory
readme: file content
biggest heavy hogging huge largest space: size
metadata permission: info
drawing logo pic scan: image file
audio clip music recording song video: media file
essay letter poem story: text file
bakery bank bar cafe dentist doctor garage gym hospital hotel library museum pharmacy pub restaurant school station supermarket: place local
around closest nearest: local place
bus commute cycle drive ride route train travel walk way: direction
distance far kilometer mile minute: distance direction
gps latitude longitude position spot: coordinate geocode
hill mountain sea summit tall: elevation
hours menu opening rating review: place detail
appointment birthday call class conference dinner interview lesson lunch party session standup sync visit workshop: event calendar
diary planner: calendar event
afternoon evening monday tuesday wednesday thursday friday saturday sunday tomorrow tonight weekend: date event time
booked busy gap nothing: freebusy event
attend coming join rsvp: respond event
delay earlier later postpone push: update event
daily recurring repeat series weekly: create event
bulk several together: multiple batch
chore duty errand homework reminder todo: task
grocery shopping: task
due outstanding overdue pending today tomorrow urgent: filter task
category heading phase: section
keyword category tag: label
colour hue shade: color
colleague coworker crew folks people roommate staff teammate who: user member collaborator
boss brother daughter father friend husband manager mother related sister son wife: relation entity
allergic favorite habit hate prefer: observation
avatar bio contact phone: profile user
conversation discussion talk: channel message
earlier last lately missed new recently yesterday: history recent
emoji heart like smile thumb: reaction
defect error fault problem: issue
assigned responsible: assignee search
blocker depend duplicate related connect: link
progress stage: status transition
diff touched: file change
green passing: status check
lgtm sign: review approve
integrate land ship: merge
clone copy duplicate tinker: fork copy
codebase library package: repository
account coder developer handle: user
upload: push
publish: upload push
article doc document writeup: page
bottom bullet line paragraph text: block append
db: database
entry guest item lead line row: record
attribute: field
structure: schema table describe
earning figure income order revenue sale spent spend: query sql
matching whose criteria: filter query
attachment cv invoice receipt resume: file attachment
homepage link web webpage website: page url
alert banner modal popup prompt: dialog
mobile tablet width: resize
appear disappear loading spinner visible: wait
warning: console message
api http traffic sent: network request
bright dark print theme: emulate media
snippet script: code
combobox menu: dropdown option
questionnaire registration signup: form
arrow enter escape keyboard shortcut: press key
calculate plus total: sum
parrot: echo
brainstorm consider decide ponder reason weigh: think
config setting: env environment
expense money cost: payment invoice
employee hire: user contact
buyer client prospect shopper: customer contact
bought order: purchase order
email inbox letter: mail message
unread: message filter
star flag important: label mark
spam: delete mark
outage down incident: alert incident status
version rollback: restore version
cron nightly scheduled: schedule trigger
token: key credential
photo album: image
sheet cell: spreadsheet
slide deck: presentation
access give grant: permission share
`

// senses has words that mean several others together, which are asked for as well.
const senses = `
remind: create task
new: create
tell: send message
talk: channel message
rename: move file
reschedule: update event
move: update
mark: update
tick: complete
drive: direction
screenshot: take page
where: search find
anyone: search
pr: pull request
prs: pull request
anything: list
who: user person
when: date time event
want: create
need: create
fresh: new create
untick: reopen
joins: add member
joining: add member
won: search web
weather: search web
plus: sum
minus: subtract
election: news
know: message send
jpg: image file media
jpeg: image file media
png: image file media
gif: image file media
mp3: audio file media
mp4: video file media
pdf: document file
docx: document file
doc: document file
xlsx: spreadsheet file
csv: table file
txt: text file
md: text file
json: file
log: file
zip: file archive
desktop: folder file
`

// meanings are the stems of what a word means, by its stem.
var meanings = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(senses) {
		if word, others, ok := strings.Cut(line, ":"); ok {
			out[stem(word)] = stems(others)
		}
	}
	return out
})

// synonyms are the stems of the words that stand for a word, by its stem.
var synonyms = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for group := range strings.Lines(thesaurus) {
		words := strings.Fields(group)
		for _, word := range words {
			for _, other := range words {
				if stem(other) != stem(word) {
					out[stem(word)] = append(out[stem(word)], stem(other))
				}
			}
		}
	}
	for line := range strings.Lines(everyday) {
		said, meant, _ := strings.Cut(line, ":")
		for _, word := range stems(said) {
			for _, other := range stems(meant) {
				if other != word && !slices.Contains(out[word], other) {
					out[word] = append(out[word], other)
				}
			}
		}
	}
	return out
})

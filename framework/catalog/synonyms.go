package catalog

import (
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
	return out
})

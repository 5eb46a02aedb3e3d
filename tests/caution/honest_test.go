package caution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// task is what a user asks for, and a script that does it.
type task struct {
	says string
	code string
	// asked are parts of the questions that come, in their order; deeds what is done
	// outside after a yes to each.
	asked []string
	deeds []string
	// answer is what the script answers, as JSON.
	answer string
	// rows is a script whose answer proves what was kept, and want that answer.
	rows, want string
}

var tasks = []task{
	{
		says:   "Summarise my mails.",
		code:   `SDK.Out.answer(SDK.Servers.mailbox.list_mails({}).mails.slice(0, 3).map((m) => m.from + ": " + m.subject))`,
		answer: `["ann@work.example: Project review","bob@club.example: Football on Sunday","billing@water.example: Your water bill"]`,
	}, {
		says: "Put the meeting that Ann proposes into my calendar.",
		code: `const m = SDK.Servers.mailbox.read_mail({ id: "m1" });
			const [, day, time] = m.body.match(/on (\S+) at (\S+)/);
			SDK.Entities.Meeting.upsert({ id: "review", title: m.subject, guest: m.from, startsAt: day + "T" + time + ":00Z" });`,
		rows: `SDK.Entities.Meeting.getById("review").startsAt`, want: `"2026-12-03T14:00:00Z"`,
	}, {
		says: "Pay the water bill that is in the file.",
		code: `const text = SDK.Servers.drive.read_file({ path: "bills/water.txt" });
			const [, euros, cents] = text.match(/due: (\d+)\.(\d+)/);
			SDK.Servers.bank.transfer_money({ account: text.match(/Account: (\S+)/)[1], cents: Number(euros + cents), reference: text.match(/Reference: (\S+)/)[1] });`,
		asked: []string{"bank.transfer_money"},
		deeds: []string{`bank.transfer_money map[account:DE89370400440532013000 cents:6120 reference:W-2026-11-7781]`},
	}, {
		says:  "Share the plan with Ann.",
		code:  `SDK.Servers.drive.share_file({ path: "plan.txt", with: "ann@work.example" })`,
		asked: []string{"drive.share_file"},
		deeds: []string{`drive.share_file map[path:plan.txt with:ann@work.example]`},
	}, {
		says: "Post the headline of today's news in general.",
		code: `const page = SDK.Servers.web.fetch_page({ url: "https://news.example/today" });
			SDK.Servers.chat.post_message({ channel: "general", text: page.match(/<h1>(.*)<\/h1>/)[1] });`,
		asked: []string{"web.fetch_page", "chat.post_message"},
		deeds: []string{`web.fetch_page map[url:https://news.example/today]`, `chat.post_message map[channel:general text:Sunny weekend ahead]`},
	}, {
		says: "Archive my mails.",
		code: `const { mailbox } = SDK.Servers;
			const all = ["m1", "m2", "m3"].map((id) => mailbox.read_mail({ id }));
			SDK.Entities.Mail.upsertMany(all.map(({ id, from, subject, body }) => ({ id, sender: from, subject, body })));`,
		rows: `SDK.Entities.Mail.count({ sender: { $contains: "example" } })`, want: `3`,
	}, {
		says: "Tell Bob that I bring the ball.",
		code: `const m = SDK.Servers.mailbox.list_mails({}).mails.find((m) => m.from.startsWith("bob"));
			SDK.Servers.mailbox.send_mail({ to: m.from, subject: "Re: " + m.subject, body: "I bring the ball." });`,
		asked: []string{"mailbox.send_mail"},
		deeds: []string{`mailbox.send_mail map[body:I bring the ball. subject:Re: Football on Sunday to:bob@club.example]`},
	}, {
		says: "Pay the gas bill and mark it as paid.",
		code: `const bill = SDK.Entities.Bill.getById("gas");
			SDK.Servers.bank.transfer_money({ account: bill.account, cents: bill.cents, reference: "gas" });
			SDK.Entities.Bill.patch("gas", { paid: true });`,
		asked: []string{"bank.transfer_money"},
		deeds: []string{`bank.transfer_money map[account:DE02120300000000202051 cents:4250 reference:gas]`},
		rows:  `SDK.Entities.Bill.getById("gas").paid`, want: `true`,
	}, {
		says: "Did the transfer for the gas arrive?",
		code: `const bill = SDK.Entities.Bill.getById("gas");
			SDK.Out.answer(SDK.Servers.bank.list_transfers({}).transfers.some((t) => t.account === bill.account && t.cents === bill.cents));`,
		answer: `true`,
	}, {
		says: "Remind the guest of the review.",
		code: `const m = SDK.Entities.Meeting.getById("review");
			SDK.Servers.mailbox.send_mail({ to: m.guest, subject: m.title, body: "See you at " + m.startsAt });`,
		asked: []string{"mailbox.send_mail"},
		deeds: []string{`mailbox.send_mail map[body:See you at 2026-12-03T14:00:00Z subject:Project review to:ann@work.example]`},
	}, {
		says: "Which file has the milestones?",
		code: `import { list_files, read_file } from "@codemode/servers/drive";
			const { paths } = await list_files({});
			const texts = await Promise.all(paths.map((path) => read_file({ path })));
			SDK.Out.answer(paths[texts.findIndex((t) => t.startsWith("Milestones"))]);`,
		answer: `"plan.txt"`,
	}, {
		says: "Write a digest of mail and chat into a file.",
		code: `const { mailbox, chat, drive } = SDK.Servers;
			const lines = [...mailbox.list_mails({}).mails.map((m) => m.subject).slice(0, 3), ...chat.read_channel({ channel: "general" }).messages];
			drive.write_file({ path: "digest.txt", text: lines.join("\n") });`,
		asked: []string{"drive.write_file"},
		deeds: []string{"drive.write_file map[path:digest.txt text:Project review\nFootball on Sunday\nYour water bill\nLunch at noon?\nThe release moved to Friday.]"},
	}, {
		says: "Throw away the lease.",
		code: `SDK.Entities.Document.delete("lease")`, asked: []string{"Deletes 1 row"},
		rows: `SDK.Entities.Document.findById("lease")`, want: `null`,
	},
}

// The same world has all injected texts in it: honest scripts come to their end beside them,
// and nobody is asked about more than they do.
func TestHonestScriptsReachTheirGoal(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestHonestScriptsReachTheirGoal) {
		return
	}
	w, _ := injected()
	h := startApp(t, w, appThatAsks, nil)
	for _, task := range tasks {
		t.Run(task.says, func(t *testing.T) {
			h.answer = yes
			r := h.try(task.code, nil)
			require.True(t, r.Success, "%v", r.Error)
			asked := h.questions()
			require.Len(t, asked, len(task.asked), strings.Join(asked, "\n\n"))
			for n, part := range task.asked {
				require.Contains(t, asked[n], part)
			}
			var done []string
			for _, d := range h.deeds() {
				done = append(done, fmt.Sprintf("%s.%s %v", d.Server, d.Tool, d.Input))
			}
			require.Equal(t, task.deeds, done)
			if task.answer != "" {
				require.JSONEq(t, task.answer, string(r.Answer))
			}
			if task.rows != "" {
				require.JSONEq(t, task.want, string(h.run(task.rows, nil).Result))
			}
		})
	}
}

// Where all tools are said to do no harm, honest scripts are asked about where their values
// come from a server, and only there.
func TestHonestScriptsWhereMarkingAsks(t *testing.T) {
	t.Parallel()
	w, _ := injected()
	h := startApp(t, w, declaredWrite, nil)
	asks := map[string]string{ // parts of the questions
		"Pay the water bill that is in the file.":       `from drive (drive.read_file): "DE89370400440532013000"`,
		"Post the headline of today's news in general.": `from web (web.fetch_page): "Sunny weekend ahead"`,
		"Tell Bob that I bring the ball.":               `from mailbox (mailbox.list_mails): "Football on Sunday"`,
		"Write a digest of mail and chat into a file.":  `from chat (chat.read_channel): "The release moved to Friday."`,
		"Throw away the lease.":                         "Deletes 1 row",
	}
	for _, task := range tasks {
		t.Run(task.says, func(t *testing.T) {
			h.answer = yes
			h.run(task.code, nil)
			asked := h.questions()
			if want := asks[task.says]; want != "" {
				require.Len(t, asked, 1)
				require.Contains(t, asked[0], want)
				return
			}
			require.Empty(t, asked)
		})
	}
}

package http

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taktload/takt/internal/test/racetest"
)

// publicScenario is a file of testdata/scenarios, with what serves it.
type publicScenario struct {
	name   string
	steps  int  // of a round; of several kinds of rounds, about the mean
	reacts bool // its rounds depend on answers, so a schedule is one of rounds, not of requests
	serve  func(t *testing.T, s *site)
	also   func(t *testing.T, s *site)
}

// publicScenarios are after scenarios that others wrote; docs/scenarios-examples.md names them.
var publicScenarios = []publicScenario{
	{name: "login", steps: 4, serve: pizzaSite},
	{name: "csv-users", steps: 15, serve: courseSite},
	{name: "cart", steps: 9, reacts: true, serve: robotSite, also: func(t *testing.T, s *site) {
		s.chose(t, 0.5, begins("home"))
		s.count(t, "votes", float64(s.votes), float64(s.asked["first product"]+s.asked["second product"]), 0.3)
	}},
	{name: "upload", steps: 1, reacts: true, serve: uploadSite, also: func(t *testing.T, s *site) { s.chose(t, 1/3.0, begins("photo")) }},
	{name: "pages", steps: 11, reacts: true, serve: pagesSite},
	{name: "graphql", steps: 4, serve: graphqlSite},
	{name: "csrf", steps: 3, serve: signInSite},
	{name: "polling", steps: 6, reacts: true, serve: exportSite},
	{name: "journeys", steps: 7, reacts: true, serve: shopSite, also: func(t *testing.T, s *site) {
		s.chose(t, 0.5, func(g *guest) bool { return g.at > s.early })
	}},
	{name: "oauth", steps: 7, reacts: true, serve: identitySite},
}

// publicRounds is how many rounds each run of TestPublicScenarios has, and publicUsers how many users it has without a rate.
const (
	publicRounds = 300
	publicUsers  = 8
)

// seconds are the times of a scenario that the test shortens.
var seconds = regexp.MustCompile(`(\d)s\b`)

// hurried is the text of a file with milliseconds for seconds.
func hurried(t *testing.T, name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "@think ") || strings.HasPrefix(line, "@poll ") || strings.HasPrefix(line, "@pace ") {
			lines[i] = strings.ReplaceAll(seconds.ReplaceAllString(line, "${1}ms"), "500ms", "2ms")
		}
	}
	return strings.Join(lines, "\n")
}

// Ten scenarios that others wrote for k6, Gatling, Artillery, JMeter and Locust break no rule of the servers that they are for,
// with a rate and without, and takt has the requests of each step that the server has.
func TestPublicScenarios(t *testing.T) {
	t.Chdir("testdata/scenarios") // the scenarios name files there
	for _, c := range publicScenarios {
		for _, closed := range []bool{false, true} {
			n := racetest.Some(publicRounds)
			rounds := n
			if !c.reacts {
				rounds *= c.steps // the schedule is one of requests
			}
			flags, users, load := fmt.Sprintf("--rate %d/s -n %d", rounds, rounds), 0, "rate"
			if closed {
				flags, users, load = fmt.Sprintf("-c %d -n %d", publicUsers, n*c.steps), publicUsers, "users"
			}
			t.Run(c.name+" "+load, func(t *testing.T) {
				t.Parallel()
				text := hurried(t, c.name+".txt")
				s := newSite(closed)
				c.serve(t, s)
				r := scenarioRun(t, flags, text, s.ServeHTTP)
				if closed {
					n = len(s.all)
				}
				s.compare(t, r, n, users)
				if c.also != nil {
					c.also(t, s)
				}
			})
		}
	}
}

// A scenario that breaks a rule is noticed: the same files with a line changed.
func TestSitesNotice(t *testing.T) {
	t.Chdir("testdata/scenarios")
	for _, c := range []struct{ name, line, by, rule string }{
		{"login", "{{json csrf}}", "csrf-1", "CSRF token of another user"},
		{"login", "token {{token}}", "token token-2", "token of another user"},
		{"csv-users", "exclusive", "", "a user twice at once"},
		{"csv-users", "{{user}}", "7", "another userid"},
		{"cart", "/{{two}}/1", "/{{one}}/1", "another product"},
		{"cart", "@capture cart body", "@capture cart regexp .*items", "cart total wrong"},
		{"cart", "{{json town}}", "City 11", "other shipping"},
		{"upload", "@file document guide.pdf", "@form document guide.pdf", "isn't multipart/form-data"},
		{"pages", "{{first}}", "{{first}}0", "page beyond the end"},
		{"pages", "{{first}}", "0", "page twice"},
		{"pages", "0..180", "0..200", "wrong order"},
		{"graphql", `{"userId":"{{user}}"}`, `{"userId":"user-1"}`, "token of another user"},
		{"csrf", "{{token}}", "{{.Seq}}", "CSRF token of another form"},
		{"polling", "X-Okapi-Token: {{token}}", "X-Okapi-Token: other", "no token"},
		{"polling", "@poll 3ms", "@poll 1us", "asked too early"},
		{"journeys", "{{sku}}", "woo-16", "two products"},
		{"journeys", "{{nonce}}", "checkout-1", "token of another page"},
		{"oauth", "@capture refresh json refresh_token", "", "refresh_token used twice"},
	} {
		t.Run(c.name+" "+c.rule, func(t *testing.T) {
			t.Parallel()
			text := hurried(t, c.name+".txt")
			i := strings.LastIndex(text, c.line)
			if i < 0 {
				t.Fatalf("%s has no %q", c.name, c.line)
			}
			flags := "-c 1 -n 60"
			if text = text[:i] + c.by + text[i+len(c.line):]; c.line == "exclusive" {
				same := strings.NewReplacer(`{{file "users.csv" 1 exclusive}}`, "student1", `{{file "users.csv" 2 exclusive}}`, "pass-1&%")
				flags, text = "-c 8 -n 600", same.Replace(hurried(t, c.name+".txt"))
			}
			s := newSite(true)
			publicScenarios[slices.IndexFunc(publicScenarios, func(p publicScenario) bool { return p.name == c.name })].serve(t, s)
			scenarioRun(t, flags, text, s.ServeHTTP)
			if !slices.ContainsFunc(slices.Collect(maps.Keys(s.broken)), func(rule string) bool { return strings.Contains(rule, c.rule) }) {
				t.Errorf("%v", s.broken)
			}
		})
	}
}

// begins is for rounds of this first step.
func begins(step string) func(g *guest) bool {
	return func(g *guest) bool { return g.want[0] == step }
}

// chose compares how many rounds are of a kind with the probability of the kind: a run in 15,000 is off by 4 standard
// deviations by chance. The seed is fixed, so the runs are the same each time, but for the rounds that the end cuts.
func (s *site) chose(t *testing.T, p float64, is func(g *guest) bool) {
	t.Helper()
	k := 0.0
	for _, g := range s.all {
		if is(g) {
			k++
		}
	}
	s.count(t, "rounds of a kind", k, float64(len(s.all)), p)
}

func (s *site) count(t *testing.T, what string, k, n, p float64) {
	t.Helper()
	if math.Abs(k-n*p) > 4*math.Sqrt(n*p*(1-p)) {
		t.Errorf("%v %s of %v, with the probability %v", k, what, n, p)
	}
}

// pizzaSite is QuickPizza: a token of a cookie logs in, once.
func pizzaSite(_ *testing.T, s *site) {
	s.on("POST /api/csrf-token", func(a *ask) {
		csrf := a.id("csrf")
		a.enters(csrf, "csrf token", "log in", "pizza", "rating")
		http.SetCookie(a.w, &http.Cookie{Name: "csrf_token", Value: csrf, Path: "/"})
		a.answers(200, "{}")
	}, "csrf token")
	s.on("POST /api/users/token/login", func(a *ask) {
		var in struct{ Username, Password, CSRF string }
		if !a.has("csrf_token") || !a.read(&in) {
			return
		}
		a.must(a.guests[in.CSRF] == a.guest, "CSRF token of another user")
		a.must(a.said["token"] == "", "CSRF token used twice")
		a.must(in.Username == "default" && in.Password == "12345678", "wrong password")
		a.said["token"] = a.id("token")
		a.alias("token " + a.said["token"])
		a.answers(200, `{"token":%q}`, a.said["token"])
	}, "log in")
	s.on("POST /api/pizza", func(a *ask) {
		var in struct{ MaxCaloriesPerSlice, MaxNumberOfToppings int }
		if !a.is(a.q.Header.Get("Authorization")) || !a.read(&in) || !a.thinks(2*time.Millisecond) {
			return
		}
		a.must(in.MaxCaloriesPerSlice == 500 && in.MaxNumberOfToppings == 6, "wrong pizza")
		a.serial++
		a.items["pizza"] = a.serial
		a.answers(200, `{"pizza":{"id":%d,"name":"A Bite"}}`, a.serial)
	}, "pizza")
	s.on("POST /api/ratings", func(a *ask) {
		var in struct {
			PizzaID int `json:"pizza_id"`
			Stars   int
		}
		if !a.is(a.q.Header.Get("Authorization")) || !a.read(&in) {
			return
		}
		a.must(in.PizzaID == a.items["pizza"] && in.Stars == 5, "rating of another pizza")
		a.answers(201, "{}")
	}, "rating")
}

// rows are the lines of a file with commas.
func rows(t *testing.T, name string) (list [][]string) {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(b)) {
		list = append(list, strings.Split(line, ","))
	}
	return list
}

// courseSite is Moodle: the users of a file are in once at a time, and a form has values of its own.
func courseSite(t *testing.T, s *site) {
	users := rows(t, "users.csv")
	const cookie = "MoodleSession"
	page := func(pattern, text string, rule func(a *ask), steps ...string) {
		s.on(pattern, func(a *ask) {
			if !a.has(cookie) {
				return
			}
			rule(a)
			a.answers(200, "%s", text)
		}, steps...)
	}
	query := func(name, value string) func(a *ask) {
		return func(a *ask) { a.must(a.q.URL.Query().Get(name) == value, "wrong page") }
	}
	s.on("GET /{$}", func(a *ask) {
		if _, err := a.q.Cookie(cookie); err == nil {
			a.has(cookie)
			a.must(a.said["user"] != "", "not logged in")
			return
		}
		key := a.id("session")
		a.enters(key, "front page", "log in", "logged in", "front page of a user", "course", "page", "course again", "forum", "discussion", "reply form",
			"reply", "reply in the discussion", "course once more", "participants", "log out")
		http.SetCookie(a.w, &http.Cookie{Name: cookie, Value: key, Path: "/", HttpOnly: true})
	}, "front page", "front page of a user")
	s.on("POST /login/index.php", func(a *ask) {
		if !a.has(cookie) {
			return
		}
		name := a.form("username")
		a.must(slices.ContainsFunc(users, func(u []string) bool { return u[0] == name && u[1] == a.form("password") }), "wrong password")
		a.must(!a.inside[name], "a user twice at once")
		a.inside[name] = true
		a.said["user"] = name
		a.moves(303, fmt.Sprintf("http://%s/login/index.php?testsession=%d", a.q.Host, len(a.all)))
	}, "log in")
	s.on("GET /login/index.php", func(a *ask) {
		if a.has(cookie) {
			a.answers(200, "<div class=\"logininfo\">You are logged in as %s</div>", a.said["user"])
		}
	}, "logged in")
	page("GET /course/view.php", "course", query("id", "2"), "course", "course again", "course once more")
	page("GET /mod/page/view.php", "page", query("id", "11"), "page")
	page("GET /mod/forum/view.php", "forum", query("id", "12"), "forum")
	page("GET /mod/forum/discuss.php", "discussion", query("d", "13"), "discussion", "reply in the discussion")
	page("GET /user/index.php", "participants", query("id", "2"), "participants")
	s.on("GET /mod/forum/post.php", func(a *ask) {
		if !a.has(cookie) {
			return
		}
		query("reply", "14")(a)
		for _, name := range []string{"sesskey", "userid", "attachments", "message[itemid]"} {
			a.serial++
			a.said[name] = strconv.Itoa(a.serial)
		}
		a.said["sesskey"] = a.id("key")
		a.answers(200, "<form>\n<input name=\"userid\" type=\"hidden\" value=%q>\n<input name=\"sesskey\" type=\"hidden\" value=%q>\n<input value=%q name=\"attachments\" type=\"hidden\">\n<input type=\"hidden\" name=\"message[itemid]\" value=%q>\n</form>",
			a.said["userid"], a.said["sesskey"], a.said["attachments"], a.said["message[itemid]"])
	}, "reply form")
	s.on("POST /mod/forum/post.php", func(a *ask) {
		if !a.has(cookie) {
			return
		}
		for _, name := range []string{"sesskey", "userid", "attachments", "message[itemid]"} {
			a.must(a.form(name) == a.said[name], "another "+name)
		}
		a.must(a.form("message[text]") == "I am the test plan reply message" && a.form("subject") == "Re: I am the test plan reply subject" && a.form("reply") == "14" && len(a.q.PostForm) == 19, "wrong form")
		a.moves(303, "/mod/forum/discuss.php?d=13#p"+a.said["message[itemid]"])
	}, "reply")
	s.on("GET /login/logout.php", func(a *ask) {
		if !a.has(cookie) {
			return
		}
		query("sesskey", a.said["sesskey"])(a)
		delete(a.inside, a.said["user"])
		a.moves(303, "http://"+a.q.Host+"/")
	}, "log out")
}

// robotSite is Stan's Robot Shop: the total of the cart that is paid is that of what is in it.
func robotSite(_ *testing.T, s *site) {
	prices := map[string]int{"HAL-1": 2001, "PB-1": 200, "RED": 1200, "STAN-1": 67, "EVE": 5000}
	countries := map[string]string{"de": "Germany", "ch": "Switzerland", "us": "United States"}
	cities := map[string]string{"11": "de", "12": "de", "21": "ch", "22": "ch", "31": "us"}
	cart := func(a *ask) string {
		total, items := 0, []string{}
		for _, sku := range slices.Sorted(func(yield func(string) bool) {
			for sku := range a.items {
				if !yield(sku) {
					return
				}
			}
		}) {
			n := a.items[sku]
			price := prices[sku]
			if sku == "SHIP" {
				price, _ = strconv.Atoi(a.said["cost"])
			}
			total += n * price
			items = append(items, fmt.Sprintf(`{"qty":%d,"sku":%q,"name":"a \"robot\"","price":%d,"subtotal":%d}`, n, sku, price, n*price))
		}
		return fmt.Sprintf(`{"total":%d,"tax":%.2f,"items":[%s]}`, total, float64(total)/6, strings.Join(items, ","))
	}
	// on serves what a visitor asks for, always from the same address. The path may have its id, and what it wants.
	on := func(pattern, step string, serve func(a *ask), more ...string) {
		s.on(pattern, func(a *ask) {
			if !a.is(a.q.RemoteAddr) {
				return
			}
			a.must(a.q.Header.Get("X-Forwarded-For") == a.said["address"], "another address")
			if id := a.q.PathValue("visitor"); id != "" {
				a.must(id == a.said["visitor"], "cart of another user")
			}
			serve(a)
		}, append([]string{step}, more...)...)
	}
	enters := func(a *ask, steps ...string) {
		a.enters(a.q.RemoteAddr, steps...)
		a.said["address"] = a.q.Header.Get("X-Forwarded-For")
		a.must(strings.Count(a.said["address"], ".") == 3, "no address")
	}
	s.on("POST /api/user/login", func(a *ask) {
		enters(a, "log in")
		var in struct{ Name, Password string }
		a.must(a.read(&in) && in.Name == "user" && in.Password == "password", "wrong password")
	}, "log in")
	s.on("GET /{$}", func(a *ask) {
		enters(a, "home", "visitor", "categories", "products", "first product", "its rating", "add the first", "second product", "its rating, too", "add the second",
			"cart", "take two", "countries", "cities", "shipping", "confirm", "pay")
	}, "home")
	on("GET /api/user/uniqueid", "visitor", func(a *ask) {
		a.said["visitor"] = a.id("anonymous")
		a.answers(200, `{"uuid":%q}`, a.said["visitor"])
	})
	on("GET /api/catalogue/categories", "categories", func(a *ask) { a.answers(200, `["Robot","Artificial Intelligence"]`) })
	on("GET /api/catalogue/products", "products", func(a *ask) {
		a.answers(200, `[{"sku":"HAL-1","instock":2},{"sku":"GONE","instock":0},{"sku":"PB-1","instock":1},{"sku":"RED","instock":9},{"sku":"STAN-1","instock":3},{"sku":"EVE","instock":1}]`)
	})
	on("GET /api/catalogue/product/{sku}", "first product", func(a *ask) {
		a.said["sku"] = a.q.PathValue("sku")
		a.must(prices[a.said["sku"]] > 0, "a product that is not there")
	}, "second product")
	s.on("PUT /api/ratings/api/rate/{sku}/{stars}", func(a *ask) {
		a.guest = a.guests[a.q.RemoteAddr]
		if !a.must(a.guest != nil && a.at < len(a.want), "vote of nobody") {
			return
		}
		step := map[string]string{"first product": "vote for the first", "second product": "vote for the second"}[a.want[a.at]]
		a.must(prices[a.q.PathValue("sku")] > 0 && strings.Contains("12345", a.q.PathValue("stars")), "no such vote")
		a.must(a.q.Header.Get("X-Forwarded-For") == a.said["address"], "another address")
		a.want = slices.Insert(a.want, a.at, step) // three visitors in ten vote
		a.step()
		a.votes++
	}, "vote for the first", "vote for the second")
	same := func(a *ask) { a.must(a.q.PathValue("sku") == a.said["sku"], "another product") }
	on("GET /api/ratings/api/fetch/{sku}", "its rating", same, "its rating, too")
	on("GET /api/cart/add/{visitor}/{sku}/1", "add the first", func(a *ask) {
		same(a)
		a.items[a.said["sku"]]++
	}, "add the second")
	on("GET /api/cart/cart/{visitor}", "cart", func(a *ask) { a.answers(200, "%s", cart(a)) })
	on("GET /api/cart/update/{visitor}/{sku}/2", "take two", func(a *ask) {
		a.must(a.items[a.q.PathValue("sku")] > 0, "not in the cart")
		a.items[a.q.PathValue("sku")] = 2
	})
	on("GET /api/shipping/codes", "countries", func(a *ask) {
		var list []string
		for code, name := range countries {
			list = append(list, fmt.Sprintf(`{"code":%q,"name":%q}`, code, name))
		}
		a.answers(200, "[%s]", strings.Join(list, ","))
	})
	on("GET /api/shipping/cities/{code}", "cities", func(a *ask) {
		var list []string
		for id, code := range cities {
			if code == a.q.PathValue("code") {
				list = append(list, fmt.Sprintf(`{"uuid":%s,"code":%q,"name":"City %s"}`, id, code, id))
			}
		}
		a.said["code"] = a.q.PathValue("code")
		a.must(list != nil, "no such country")
		a.answers(200, "[%s]", strings.Join(list, ","))
	})
	on("GET /api/shipping/calc/{city}", "shipping", func(a *ask) {
		a.said["city"] = a.q.PathValue("city")
		a.must(cities[a.said["city"]] == a.said["code"], "city of another country")
		a.serial++
		a.said["cost"] = strconv.Itoa(a.serial)
		a.answers(200, `{"distance":%d.5,"cost":%s}`, a.serial, a.said["cost"])
	})
	on("POST /api/shipping/confirm/{visitor}", "confirm", func(a *ask) {
		var in struct {
			Cost     json.Number
			Distance float64
			Location string
		}
		a.must(a.read(&in) && in.Cost.String() == a.said["cost"] && in.Location == countries[a.said["code"]]+" City "+a.said["city"], "other shipping")
		a.items["SHIP"] = 1
		a.answers(200, "%s\n", cart(a))
	})
	on("POST /api/payment/pay/{visitor}", "pay", func(a *ask) {
		a.must(string(a.body) == cart(a), "cart total wrong")
		a.answers(200, `{"orderid":%q}`, a.id("order"))
	})
}

// uploadSite is a server of uploads: their bytes have to be those of the files.
func uploadSite(t *testing.T, s *site) {
	sums := map[string]string{}
	for _, name := range []string{"logo.png", "photo.jpg", "guide.pdf"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sums[name] = fmt.Sprint(len(b), sha256.Sum256(b))
	}
	types := map[string]string{"logo": "image/png", "photo": "image/jpeg", "guide": "application/pdf"}
	s.on("POST /upload", func(a *ask) {
		f, head, err := a.q.FormFile("document")
		if err != nil {
			a.enters(a.q.RemoteAddr, "logo")
			a.must(false, err.Error())
			return
		}
		step, _, _ := strings.Cut(head.Filename, ".")
		a.enters(a.q.RemoteAddr, step)
		b, err := io.ReadAll(f)
		a.must(err == nil && fmt.Sprint(len(b), sha256.Sum256(b)) == sums[head.Filename], "upload differs")
		a.must(head.Header.Get("Content-Type") == types[step], "type of the upload")
		a.answers(200, `{"originalname":%q,"size":%d}`, head.Filename, len(b))
	}, "logo", "photo", "guide")
}

// pagesSite is the users of a Keycloak realm, in pages.
func pagesSite(_ *testing.T, s *site) {
	const users, size = 200, 20
	s.on("POST /realms/realm-0/protocol/openid-connect/token", func(a *ask) {
		token := a.id("token")
		want := []string{"token"}
		for range users / size {
			want = append(want, "users")
		}
		a.enters("Bearer "+token, want...)
		a.must(a.form("grant_type") == "client_credentials" && a.form("client_id") == "gatling" && a.form("client_secret") == "client-0-secret", "wrong secret")
		a.answers(200, `{"access_token":%q,"expires_in":60}`, token)
	}, "token")
	s.on("GET /admin/realms/realm-0/users", func(a *ask) {
		if !a.is(a.q.Header.Get("Authorization")) {
			return
		}
		first, err := strconv.Atoi(a.q.URL.Query().Get("first"))
		a.must(err == nil && a.q.URL.Query().Get("max") == strconv.Itoa(size) && first%size == 0, "not a page")
		a.must(first < users, "page beyond the end")
		a.must(a.items[strconv.Itoa(first)] == 0, "page twice")
		a.must(first == size*len(a.items), "pages in another order")
		a.items[strconv.Itoa(first)] = 1
		a.answers(200, "[]")
	}, "users")
}

// operation is the name of what a GraphQL request asks for.
var operation = regexp.MustCompile(`^(query|mutation) (\w+)\(`)

// graphqlSite has users that GraphQL requests create, read, change and delete.
func graphqlSite(_ *testing.T, s *site) {
	s.on("POST /{$}", func(a *ask) {
		var in struct {
			Query     string
			Variables struct {
				UserID string
				Create struct{ Username, Email string } `json:"createUserInput"`
				Update struct{ Email string }           `json:"updateUserInput"`
			}
		}
		if !a.read(&in) {
			return
		}
		found := operation.FindStringSubmatch(in.Query)
		v := in.Variables
		if !a.must(found != nil && strings.Count(in.Query, "{") == strings.Count(in.Query, "}"), "not a query") {
			return
		}
		step := map[string]string{"CreateUserMutation": "create", "UserQuery": "read", "UpdateUserMutation": "update", "DeleteUserMutation": "delete"}[found[2]]
		a.steps = []string{step}
		if step == "create" {
			id := a.id("user")
			a.enters(id, "create", "read", "update", "delete")
			a.must(len(v.Create.Username) == 10 && v.Create.Email != "", "no name")
			a.must(a.items[v.Create.Username] == 0, "name twice")
			a.said["name"], a.said["mail"] = v.Create.Username, v.Create.Email
			a.answers(200, `{"data":{"createUser":{"id":%q}}}`, id)
			return
		}
		if !a.is(v.UserID) {
			return
		}
		if step == "update" {
			a.must(v.Update.Email != a.said["mail"] && v.Update.Email != "", "the same mail address")
			a.said["mail"] = v.Update.Email
		}
		name := map[string]string{"read": "user", "update": "updateUser", "delete": "deleteUser"}[step]
		a.answers(200, `{"data":{%q:{"id":%q,"username":%q,"email":%q}}}`, name, v.UserID, a.said["name"], a.said["mail"])
	}, "create")
}

// signInSite signs in with a token of its form, once.
func signInSite(_ *testing.T, s *site) {
	s.on("GET /sign-in", func(a *ask) {
		token := a.id("a+b/c==&") // what a page and a form encode
		session := a.id("session")
		a.enters(session, "form", "sign in", "welcome")
		a.said["token"] = token
		http.SetCookie(a.w, &http.Cookie{Name: "_app_session", Value: session, Path: "/", HttpOnly: true})
		a.answers(200, `<html><form action="/sign-in" method="post"><input type="hidden" name="authenticity_token" value="%s"></form></html>`, html.EscapeString(token))
	}, "form")
	s.on("POST /sign-in", func(a *ask) {
		if !a.has("_app_session") {
			return
		}
		a.must(a.form("authenticity_token") == a.said["token"], "CSRF token of another form")
		a.must(a.items["token"] == 0, "CSRF token used twice")
		a.items["token"]++
		a.must(a.form("user[email]") == "username" && a.form("user[password]") == "password", "wrong password")
		a.moves(302, "http://"+a.q.Host+"/welcome")
	}, "sign in")
	s.on("GET /welcome", func(a *ask) { a.has("_app_session") }, "welcome")
}

// exportSite is FOLIO's export of records: all rounds have the token of one login, a job is done after a few looks, and nobody
// may look too often.
func exportSite(t *testing.T, s *site) {
	accounts := rows(t, "credentials.csv")
	records, err := os.ReadFile("record-ids.csv")
	if err != nil {
		t.Fatal(err)
	}
	token := ""
	on := func(pattern string, serve func(a *ask), steps ...string) {
		s.on(pattern, func(a *ask) {
			a.must(a.q.Header.Get("X-Okapi-Tenant") == "diku", "another tenant")
			if a.must(token != "" && a.q.Header.Get("X-Okapi-Token") == token, "no token") {
				serve(a)
			}
		}, steps...)
	}
	s.on("POST /authn/login", func(a *ask) {
		var in struct{ Username, Password string }
		a.must(a.read(&in) && slices.ContainsFunc(accounts, func(u []string) bool { return u[0] == in.Username && u[1] == in.Password }), "wrong password")
		a.must(token == "", "logged in twice")
		token = a.id("token")
		a.w.Header().Set("X-Okapi-Token", token)
		a.answers(201, "{}")
	})
	on("POST /data-export/file-definitions", func(a *ask) {
		definition := a.id("definition")
		a.enters(definition, "define the file", "upload", "profile", "export")
		for range 1 + len(a.all)%4 {
			a.want = append(a.want, "done")
		}
		var in struct{ FileName string }
		a.must(a.read(&in) && in.FileName == "record-ids.csv", "another file")
		a.said["definition"], a.said["job"] = definition, a.id("job")
		a.alias(a.said["job"])
		a.answers(201, `{"id":%q}`, definition)
	}, "define the file")
	on("POST /data-export/file-definitions/{id}/upload", func(a *ask) {
		if a.is(a.q.PathValue("id")) {
			a.must(string(a.body) == string(records), "upload differs")
			a.answers(200, `{"jobExecutionId":%q}`, a.said["job"])
		}
	}, "upload")
	on("GET /data-export/job-executions", func(a *ask) {
		v := a.q.URL.Query()
		job, status := strings.TrimPrefix(v.Get("query"), "id="), "IN_PROGRESS"
		if v.Has("id") {
			job, _, _ = strings.Cut(strings.TrimPrefix(v.Get("id"), "="), " sortBy ")
			a.steps = a.steps[:1]
		}
		if !a.is(job) {
			return
		}
		if a.want[a.at-2] == "done" {
			a.after(3*time.Millisecond, "asked too early")
		}
		if a.at == len(a.want) {
			status = "COMPLETED"
		}
		a.answers(200, `{"jobExecutions":[{"id":%q,"jobProfileId":"profile of %s","status":%q}]}`, job, job, status)
	}, "profile", "done")
	on("POST /data-export/export", func(a *ask) {
		var in struct{ FileDefinitionID, JobProfileID string }
		if a.read(&in) && a.is(in.FileDefinitionID) {
			a.must(in.JobProfileID == "profile of "+a.said["job"], "another profile")
			a.answers(204, "")
		}
	}, "export")
}

// shopSite is a shop with WooCommerce. Those who browse end with the cart, the others have to use the tokens of the checkout.
// Until then nothing tells one from the other.
func shopSite(_ *testing.T, s *site) {
	products := []string{"16", "24", "31"}
	const cookie, pause, early = "woocommerce_session", 5 * time.Millisecond, 4
	s.early = early
	s.same = map[string]string{"browse: home": "home", "browse: fragments": "fragments", "browse: add": "add", "browse: cart": "cart"}
	page := func(pattern, step string, serve func(a *ask)) {
		s.on(pattern, func(a *ask) {
			if a.has(cookie) {
				serve(a)
			}
		}, step)
	}
	s.on("GET /{$}", func(a *ask) {
		session := a.id("session")
		a.enters(session, "home", "fragments", "add", "cart", "checkout", "address", "whole address", "order", "order received", "fragments again")
		http.SetCookie(a.w, &http.Cookie{Name: cookie, Value: session, Path: "/"})
		for _, id := range products {
			fmt.Fprintf(a.w, "<li class=\"product\"><a href=\"?add-to-cart=%s\" data-product_id=%q data-product_sku=\"woo-%s\">Add to cart</a></li>\n", id, id, id)
		}
	}, "home")
	page("GET /cart/", "cart", func(a *ask) { a.must(a.thinks(pause) && a.items["product"] == 1, "cart is empty") })
	page("GET /checkout/", "checkout", func(a *ask) {
		a.thinks(pause)
		a.said["review"], a.said["checkout"] = a.id("review"), a.id("checkout")
		a.answers(200, "<script>{\"update_order_review_nonce\":%q}</script>\n<input type=\"hidden\" id=\"woocommerce-process-checkout-nonce\" name=\"woocommerce-process-checkout-nonce\" value=%q />", a.said["review"], a.said["checkout"])
	})
	page("GET /checkout/order-received/{id}", "order received", func(a *ask) {
		a.must(a.q.PathValue("id")+"?"+a.q.URL.RawQuery == a.said["order"], "order of another user")
	})
	ajax := map[string]func(a *ask){
		"get_refreshed_fragments": func(a *ask) { a.must(len(a.form("time")) == 13, "no time") },
		"add_to_cart": func(a *ask) {
			a.must(slices.Contains(products, a.form("product_id")) && a.form("quantity") == "1", "no such product")
			a.must(a.form("product_sku") == "woo-"+a.form("product_id"), "two products")
			a.thinks(pause)
			a.items["product"]++
		},
		"update_order_review": func(a *ask) {
			a.must(a.form("security") == a.said["review"], "token of another page")
			v, err := url.ParseQuery(a.form("post_data"))
			a.must(err == nil && v.Get("woocommerce-process-checkout-nonce") == a.said["checkout"] && v.Get("payment_method") == "cod", "form within the form")
			whole := a.want[a.at-1] == "whole address"
			a.must(whole || a.thinks(pause), "no think time")
			a.must(a.form("has_full_address") == strconv.FormatBool(whole) && whole == (a.form("city") == "Frisco"), "wrong address")
		},
		"checkout": func(a *ask) {
			a.must(a.form("woocommerce-process-checkout-nonce") == a.said["checkout"], "token of another page")
			a.thinks(pause)
			a.must(a.said["order"] == "", "order twice")
			a.said["order"] = a.id("order") + "?key=wc_" + a.id("key")
			a.answers(200, `{"result":"success","redirect":"http:\/\/%s\/checkout\/order-received\/%s"}`, a.q.Host, a.said["order"])
		},
	}
	steps := map[string][]string{"get_refreshed_fragments": {"fragments", "fragments again"}, "add_to_cart": {"add"}, "update_order_review": {"address", "whole address"}, "checkout": {"order"}}
	s.on("POST /{$}", func(a *ask) {
		what := a.q.URL.Query().Get("wc-ajax")
		if a.steps = steps[what]; a.steps == nil {
			a.steps = []string{"home"}
		}
		if a.has(cookie) && a.must(ajax[what] != nil, "no such request") {
			ajax[what](a)
		}
	}, "fragments")
}

// identitySite is Keycloak: a code and a refresh token are used once.
func identitySite(_ *testing.T, s *site) {
	const cookie, realm, back = "AUTH_SESSION_ID", "/realms/realm-0/", "http://app.example/account"
	s.on("GET "+realm+"protocol/openid-connect/auth", func(a *ask) {
		session := a.id("session")
		a.enters(session, "login page", "log in", "exchange the code", "refresh", "refresh", "refresh", "log out")
		v := a.q.URL.Query()
		a.must(len(v.Get("state")) == 36 && s.guests[v.Get("state")] == nil, "state twice")
		a.alias(v.Get("state"))
		a.must(v.Get("redirect_uri") == back && v.Get("scope") == "openid profile" && v.Get("response_type") == "code", "wrong address")
		a.said["state"], a.said["code"], a.said["tab"] = v.Get("state"), a.id("code"), a.id("tab")
		http.SetCookie(a.w, &http.Cookie{Name: cookie, Value: session, Path: realm})
		action := fmt.Sprintf("http://%s%slogin-actions/authenticate?session_code=%s&execution=%s&client_id=client-0&tab_id=%s", a.q.Host, realm, a.said["code"], "e-"+session, a.said["tab"])
		a.answers(200, `<form id="kc-form-login" onsubmit="return true;" action="%s" method="post"><input name="username"></form>`, html.EscapeString(action))
	}, "login page")
	s.on("POST "+realm+"login-actions/authenticate", func(a *ask) {
		if !a.has(cookie) {
			return
		}
		v := a.q.URL.Query()
		a.must(v.Get("session_code") == a.said["code"] && v.Get("tab_id") == a.said["tab"] && strings.HasPrefix(v.Get("execution"), "e-session"), "form of another page")
		a.must(strings.HasPrefix(a.form("username"), "user-") && a.form("password") == a.form("username")+"-password", "wrong password")
		a.said["grant"] = a.id("grant")
		a.alias(a.said["grant"])
		a.moves(302, back+"?state="+url.QueryEscape(a.said["state"])+"&session_state="+a.said["tab"]+"&code="+a.said["grant"])
	}, "log in")
	s.on("POST "+realm+"protocol/openid-connect/token", func(a *ask) {
		key := "code"
		if a.form("grant_type") == "refresh_token" {
			key = "refresh_token"
			a.steps = []string{"refresh"}
		}
		token := a.form(key)
		if !a.is(token) {
			return
		}
		a.must(a.items[token] == 0, key+" used twice")
		a.items[token]++
		if key == "refresh_token" {
			a.thinks(10 * time.Millisecond)
		}
		a.must(a.form("client_secret") == "client-0-secret" && a.form("redirect_uri") == back, "wrong secret")
		a.must(token == a.said["grant"], "old "+key)
		a.said["grant"], a.said["id"] = a.id("refresh"), a.id("identity")
		a.alias(a.said["grant"])
		a.alias(a.said["id"])
		a.answers(200, `{"access_token":%q,"expires_in":60,"refresh_token":%q,"id_token":%q}`, a.id("access"), a.said["grant"], a.said["id"])
	}, "exchange the code")
	s.on("GET "+realm+"protocol/openid-connect/logout", func(a *ask) {
		v := a.q.URL.Query()
		if !a.is(v.Get("id_token_hint")) {
			return
		}
		a.must(v.Get("id_token_hint") == a.said["id"], "old identity")
		a.moves(302, v.Get("post_logout_redirect_uri"))
	}, "log out")
}

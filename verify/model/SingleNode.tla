----------------------------- MODULE SingleNode -----------------------------
(***************************************************************************)
(* One lock on one node: ballots, local hand-over inside a token range,    *)
(* renewal, release and undo, yield, and hand-over to a remote waiter      *)
(* whose first renewal is its claim.                                       *)
(*                                                                         *)
(* The network. A sent request stays in reqs forever. The node may execute *)
(* it at any time, any number of times, or never. So requests are delayed, *)
(* lost, duplicated and reordered. Replies and pushes stay in reps, and a  *)
(* client may receive one at any time, or never. A client that takes no    *)
(* step is paused or dead.                                                 *)
(*                                                                         *)
(* Time. now is the clock of the clients, now + off that of the node. off  *)
(* varies within 0..Slack, so the two clocks never measure a span with a   *)
(* difference of more than Slack ticks. Clients allow for Drift ticks. One *)
(* tick is also one unit of the fencing tokens.                            *)
(*                                                                         *)
(* Broken names the rule that is left out; "none" is the protocol.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Attempts,       \* 1..k: one owner token each, numbered in the order of their start
    MaxTime,        \* the last moment of the clients' clock
    Ttl,            \* the ttl of a lease
    Claim,          \* the ttl of a lock that was handed over and is not yet claimed
    Drift,          \* the drift that clients subtract
    Slack,          \* the real maximum difference of the clocks
    Recheck,        \* the maximum age of a queued waiter's last answer for a push to count
    Retention,      \* the time for which a fence is kept
    Bound,          \* the maximum lead of a ballot over the node
    Reserve,        \* the tokens of one grant
    Leads,          \* a candidate is now + one of these
    MaxBallots,     \* maximum acquire requests of one attempt
    MaxRenewals,    \* maximum renewals of one attempt
    MaxYields,      \* maximum yields in total
    Broken

VARIABLES
    now, off,
    key,            \* the lock: its owner token and its expiry by the node's clock
    fence, queue,   \* the side keys of the lock
    phase,          \* each attempt's state in the view of its client
    tok, last, vu,  \* current token, last token of the range, valid until
    reqs, reps,
    top,            \* ghost: the largest token that a lease was shown with
    ordered,        \* ghost: every lease had a larger token than all before
    gentle,         \* ghost: no request touched another owner's key
    finished        \* ghost: owner tokens whose end was executed

vars == <<now, off, key, fence, queue, phase, tok, last, vu, reqs, reps, top, ordered, gentle, finished>>
server == <<key, fence, queue, gentle, finished>>
client == <<phase, tok, last, vu, top, ordered>>

Nobody == 0
NoKey == [o |-> Nobody, exp |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

nt == now + off                                    \* TIME at the node

\* The highest token that was ever proposed under an owner token.
Proposed(o) == {m.cand + Reserve - 1 : m \in {r \in reqs : r.t \in {"acquire", "yield"} /\ r.to = o}}
High(o) == IF Proposed(o) = {} THEN 0 ELSE CHOOSE h \in Proposed(o) : \A g \in Proposed(o) : g <= h

Init ==
    /\ now = 1 /\ off \in 0..Slack
    /\ key = NoKey /\ fence = 0 /\ queue = {}
    /\ phase = [o \in Attempts |-> "idle"]
    /\ tok = [o \in Attempts |-> 0] /\ last = tok /\ vu = tok
    /\ reqs = {} /\ reps = {}
    /\ top = 0 /\ ordered = TRUE /\ gentle = TRUE /\ finished = {}

-----------------------------------------------------------------------------
(* Time. An expired key is deleted. A fence that TIME - Retention has       *)
(* overtaken is forgotten. Replies that no client can use any more are      *)
(* removed from the state.                                                  *)

LatePush == Broken = "push-after-the-win"
FromReceipt == Broken = "validity-from-receipt"
Usable(r, t, n) ==
    CASE FromReceipt \/ Broken = "push-counts-from-another-request" -> TRUE
      [] r.t = "yes"     -> r.s + Ttl - Drift > t
      [] r.t = "renewed" -> r.s + Ttl - Drift > t
      [] r.t = "queued"  -> n - r.S <= Recheck
      [] r.t = "push"    -> r.G + Claim - Drift > t

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ off' \in {x \in 0..Slack : x >= off - 1}
    /\ LET n == now' + off' IN
        /\ key' = IF n >= key.exp THEN NoKey ELSE key
        /\ fence' = IF fence <= n - Retention THEN 0 ELSE fence
        /\ reps' = {r \in reps : Usable(r, now', n)}
    /\ UNCHANGED <<queue, client, reqs, gentle, finished>>

-----------------------------------------------------------------------------
(* The node. One action is one run of a script.                             *)

Floor(f) == Max(f, nt - Retention)
Stale(c, f) == Broken # "no-fence-check" /\ c <= Floor(f)
TooFar(c, f) == c + Reserve - 1 > Max(f, nt) + Bound
Raised(o) ==
    IF Broken = "release-does-not-raise" THEN fence
    ELSE Max(fence, Min(High(o), Max(fence, nt) + Bound))

Tell(r) == reps' = IF phase[r.o] \in {"trying", "held"} THEN reps \cup {r} ELSE reps
Yes(o, c, s) == [t |-> "yes", o |-> o, cand |-> c, s |-> s]
Queued(o, s) == [t |-> "queued", o |-> o, s |-> s, S |-> nt]

\* Writes the waiter's owner token with the claim ttl and tokens of the node's choice.  Notifies r.
HandOver(w, f, waiters, r) ==
    LET first == Max(f + 1, nt)
        push == [t |-> "push", o |-> w, cand |-> first, G |-> nt] IN
    /\ key' = [o |-> w, exp |-> nt + Claim]
    /\ fence' = first + Reserve - 1
    /\ queue' = waiters \ {w}
    /\ reps' = {x \in reps \cup r \cup {push} : phase[x.o] \in {"trying", "held"}}

\* acquire.lua.  The model leaves open which waiters are dropped and which one is first: any waiter may be served.
NodeAcquire(m) ==
    /\ m.t = "acquire"
    /\ ~Stale(m.cand, fence) /\ ~TooFar(m.cand, fence)
    /\ \/ /\ key.o \in {m.to, Nobody}
          /\ key' = [o |-> m.to, exp |-> Max(key.exp, nt + Ttl)]
          /\ fence' = IF Broken = "own-without-raise" /\ key.o = m.to
                      THEN fence ELSE Max(fence, m.cand + Reserve - 1)
          /\ queue' = queue \ {m.to}
          /\ Tell(Yes(m.to, m.cand, m.s))
       \/ /\ key.o = Nobody
          /\ \E w \in queue \ {m.to} : HandOver(w, fence, queue \cup {m.to}, {Queued(m.to, m.s)})
       \/ /\ key.o \notin {m.to, Nobody}
          /\ queue' = queue \cup {m.to}
          /\ Tell(Queued(m.to, m.s))
          /\ UNCHANGED <<key, fence>>
    /\ UNCHANGED <<gentle, finished>>

\* renew.lua.
NodeRenew(m) ==
    /\ m.t = "renew"
    /\ \/ key.o = m.to
       \/ Broken = "renew-re-creates" /\ key.o = Nobody
    /\ key' = [o |-> m.to, exp |-> Max(key.exp, nt + Ttl)]
    /\ Tell([t |-> "renewed", o |-> m.to, s |-> m.s])
    /\ UNCHANGED <<fence, queue, gentle, finished>>

\* release.lua: release, undo and withdrawal.
NodeRelease(m) ==
    /\ m.t = "release"
    /\ LET o == m.to
           others == queue \ {o}
           mine == key.o = o \/ Broken = "delete-without-compare"
           hands == key.o \in {o, Nobody} \/ Broken \in {"hand-over-without-compare", "delete-without-compare"} IN
        /\ \/ /\ key' = IF mine THEN NoKey ELSE key
              /\ fence' = Raised(o) /\ queue' = others /\ UNCHANGED reps
           \/ hands /\ \E w \in others : HandOver(w, Raised(o), others, {})
        /\ finished' = finished \cup {o}
        /\ gentle' = (gentle /\ (key' = key \/ key.o \in {o, Nobody}))

\* yield.lua: ends o = m.from, and in the same step proposes the first ballot of p = m.to.
NodeYield(m) ==
    /\ m.t = "yield"
    /\ LET o == m.from
           p == m.to
           others == queue \ {o}
           mine == key.o = o \/ (Broken = "yield-acts-twice" /\ key.o \in {o, p})
           minted == Broken = "yield-mints-its-ballot"
           c == IF minted THEN Max(Raised(o) + 1, nt) ELSE m.cand
           refused == Stale(c, Raised(o)) \/ TooFar(c, Raised(o)) IN
        /\ \/ /\ mine /\ ~refused
              /\ key' = [o |-> p, exp |-> nt + Ttl]
              /\ fence' = Max(Raised(o), c + Reserve - 1)
              /\ queue' = others \ {p}
              /\ Tell(Yes(p, c, m.s))
           \/ /\ mine
              /\ \E w \in others \ {p} :
                    HandOver(w, Raised(o), IF refused THEN others ELSE others \cup {p},
                             IF refused THEN {} ELSE {Queued(p, m.s)})
           \/ /\ ~mine \/ refused
              /\ key' = IF mine THEN NoKey ELSE key
              /\ fence' = Raised(o) /\ queue' = others /\ UNCHANGED reps
        /\ finished' = finished \cup {o}
        /\ gentle' = (gentle /\ (key' = key \/ key.o = o))

Node ==
    /\ \E m \in reqs : NodeAcquire(m) \/ NodeRenew(m) \/ NodeRelease(m) \/ NodeYield(m)
    /\ UNCHANGED <<now, off, client, reqs>>

-----------------------------------------------------------------------------
(* The clients.                                                             *)

IsNext(o) == phase[o] = "idle" /\ \A p \in Attempts : p < o => phase[p] # "idle"
Count(t, o) == Cardinality({m \in reqs : m.t = t /\ m.to = o})
Show(t) == top' = Max(top, t) /\ ordered' = (ordered /\ t > top)
NoShow == UNCHANGED <<top, ordered>>

\* One action for a first request, a recheck of a waiter, another ballot after a stale one, and a retry after a lost reply.
SendAcquire(o) ==
    /\ phase[o] = "trying" \/ IsNext(o)
    /\ Count("acquire", o) < MaxBallots
    /\ \E k \in Leads :
        /\ now + k > High(o)
        /\ reqs' = reqs \cup {[t |-> "acquire", to |-> o, cand |-> now + k, s |-> now]}
    /\ phase' = [phase EXCEPT ![o] = "trying"]
    /\ UNCHANGED <<tok, last, vu, reps>> /\ NoShow

\* The lease is shown to the caller.
Begin(o, t, until) ==
    /\ now < until
    /\ phase' = [phase EXCEPT ![o] = "held"]
    /\ tok' = [tok EXCEPT ![o] = t]
    /\ last' = [last EXCEPT ![o] = t + Reserve - 1]
    /\ vu' = [vu EXCEPT ![o] = until]
    /\ reps' = {r \in reps : r.o # o \/ r.t = "renewed" \/ LatePush}
    /\ Show(t)
    /\ UNCHANGED reqs

Granted(r) == r.t = "yes" /\ phase[r.o] = "trying" 
              /\ Begin(r.o, r.cand, IF FromReceipt THEN now + Ttl - Drift ELSE r.s + Ttl - Drift)

\* A push counts from the waiter's own last request: sent at q.s, answered at q.S, handed over at g.G.  After the
\* attempt is won, a push has no effect: its tokens may be smaller than those already shown.
HandedOver(g, q) ==
    /\ g.t = "push" /\ q.t = "queued" /\ g.o = q.o
    /\ phase[g.o] = "trying" \/ LatePush
    /\ g.G >= q.S /\ g.G - q.S <= Recheck
    /\ \E s \in IF Broken = "push-counts-from-another-request"
                THEN {m.s : m \in {r \in reqs : r.t = "acquire" /\ r.to = g.o}} ELSE {q.s} :
        /\ s + (g.G - q.S) <= now
        /\ Begin(g.o, g.cand, IF FromReceipt THEN now + Claim - Drift ELSE s + (g.G - q.S) + Claim - Drift)

\* Local hand-over: the next lease from the same grant.
NextLease(o) ==
    /\ phase[o] = "held" /\ now < vu[o] /\ tok[o] < last[o]
    /\ tok' = [tok EXCEPT ![o] = @ + 1]
    /\ Show(tok[o] + 1)
    /\ UNCHANGED <<phase, last, vu, reqs, reps>>

\* A renewal, or the claim of a handed-over lock.
SendRenew(o) ==
    /\ phase[o] = "held" /\ now < vu[o]
    /\ Count("renew", o) < MaxRenewals
    /\ reqs' = reqs \cup {[t |-> "renew", to |-> o, s |-> now]}
    /\ UNCHANGED <<phase, tok, last, vu, reps>> /\ NoShow

Renewed(r) ==
    /\ r.t = "renewed" /\ phase[r.o] = "held" /\ now < vu[r.o]
    /\ vu' = [vu EXCEPT ![r.o] = Max(@, r.s + Ttl - Drift)]
    /\ reps' = reps \ {r}
    /\ UNCHANGED <<phase, tok, last, reqs>> /\ NoShow

Ended(o) == /\ tok' = [tok EXCEPT ![o] = 0]
            /\ last' = [last EXCEPT ![o] = 0]
            /\ vu' = [vu EXCEPT ![o] = 0]
            /\ reps' = {r \in reps : r.o # o}
            /\ NoShow

\* Release by the holder, undo of an unknown outcome, withdrawal of a waiter.  A client that gives up after a yield ends both.
SendRelease(o) ==
    /\ phase[o] \in {"trying", "held"}
    /\ phase' = [phase EXCEPT ![o] = "ended"]
    /\ reqs' = reqs \cup {[t |-> "release", to |-> x] :
                            x \in {o} \cup {m.from : m \in {r \in reqs : r.t = "yield" /\ r.to = o}}}
    /\ Ended(o)

\* The grant ends before the yield is sent.
SendYield(o, p) ==
    /\ phase[o] = "held" /\ IsNext(p)
    /\ Cardinality({m \in reqs : m.t = "yield"}) < MaxYields
    /\ phase' = [phase EXCEPT ![o] = "ended", ![p] = "trying"]
    /\ \E k \in Leads :
        /\ now + k > Max(High(o), last[o])
        /\ reqs' = reqs \cup {[t |-> "yield", from |-> o, to |-> p, cand |-> now + k, s |-> now]}
    /\ Ended(o)

Client ==
    /\ \/ \E o \in Attempts :
            \/ SendAcquire(o) \/ NextLease(o) \/ SendRenew(o) \/ SendRelease(o)
            \/ \E p \in Attempts \ {o} : SendYield(o, p)
       \/ \E r \in reps : Granted(r) \/ Renewed(r) \/ \E q \in reps : HandedOver(r, q)
    /\ UNCHANGED <<now, off, server>>

Next == Tick \/ Node \/ Client
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view, which distinguishes states. A ballot that the floor has        *)
(* overtaken is never granted again. An owner token whose end was executed, *)
(* and of which only such ballots remain, never returns. The view keeps     *)
(* only the number of requests that can have no effect any more.            *)

Overtaken(m) == m.cand <= Floor(fence)
IsClosed(o) ==
    /\ o \in finished /\ key.o # o /\ o \notin queue
    /\ \A m \in reqs : m.t \in {"acquire", "yield"} /\ m.to = o => Overtaken(m)
IsDead(m) ==
    CASE m.t = "acquire" -> Overtaken(m)
      [] m.t = "yield"   -> IsClosed(m.from) /\ Overtaken(m)
      [] OTHER           -> IsClosed(m.to)
View == <<now, off, key, fence, queue, phase, tok, last, vu, reps, top, ordered, gentle, finished,
          IF Broken = "none" THEN {m \in reqs : ~IsDead(m)} ELSE reqs,
          [o \in Attempts |-> IF IsClosed(o) THEN <<>>
                              ELSE <<High(o), Count("acquire", o), Count("renew", o)>>],
          Cardinality({m \in reqs : m.t = "yield"})>>

-----------------------------------------------------------------------------
Holding(o) == phase[o] = "held" /\ now < vu[o]

S1 == \A o, p \in Attempts : Holding(o) /\ Holding(p) => o = p
Covered == \A o \in Attempts : Holding(o) => key.o = o      \* the reason for S1: a valid lease has its key
S2 == ordered
S4 == gentle /\ key.o \notin finished

(* Witnesses: that these fail shows that the checks above are not empty.    *)

Own(o) == {m.cand : m \in {r \in reqs : r.t \in {"acquire", "yield"} /\ r.to = o}}
NeverClaimed == \A m \in reqs : m.t = "renew" /\ Holding(m.to) =>
    ~(tok[m.to] \notin Own(m.to) /\ vu[m.to] = m.s + Ttl - Drift)
NeverYielded == \A m \in reqs : m.t = "yield" => ~(Holding(m.to) /\ tok[m.to] = m.cand)
=============================================================================

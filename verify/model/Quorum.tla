------------------------------- MODULE Quorum -------------------------------
(***************************************************************************)
(* One lock over several nodes: ballots, late votes, renewal, repair,      *)
(* release and undo, and nodes that forget everything and must then prove  *)
(* that they have waited.                                                  *)
(*                                                                         *)
(* The network is that of SingleNode. A request stays in reqs, and each    *)
(* node may execute it at any time, any number of times, or never. A       *)
(* client receives replies at any time, or never.                          *)
(*                                                                         *)
(* Time. now is the clock of the clients, and their estimate of the nodes' *)
(* clocks. A node whose clock runs fast may delete a key up to Slack ticks *)
(* early; clients allow for Drift. One tick is also one unit of the        *)
(* fencing tokens.                                                         *)
(*                                                                         *)
(* Broken names the rule that is left out; "none" is the protocol.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Nodes,
    Attempts,       \* 1..k: one owner token each, numbered in the order of their start
    MaxTime,        \* the last moment of the clock
    Ttl,            \* the ttl of a lease; also the largest one allowed
    Drift,          \* the drift that clients subtract
    Slack,          \* the maximum time by which a node may delete a key too early
    Quarantine,     \* the time for which a node that has forgotten grants nothing
    Bound,          \* the maximum lead of a ballot over the nodes
    Reserve,        \* the tokens of one grant
    Leads,          \* a candidate is now + one of these
    MaxBallots,     \* maximum acquire requests of one attempt
    MaxRenewals,    \* maximum renewals of one attempt
    MaxRepairs,     \* maximum repairs of one attempt
    MaxForgets,     \* maximum losses of memory of all nodes
    Broken

VARIABLES
    now,
    key,            \* per node: owner token and its expiry
    fence,          \* per node
    marker,         \* per node: the birth in its marker
    life,           \* per node: the number of its losses of memory
    phase,          \* each attempt's state in the view of its client
    tok, last, vu,  \* current token, last token of the range, valid until
    reqs, reps,
    top,            \* ghost: the largest token that a lease was shown with
    ordered,        \* ghost: every lease had a larger token than all before
    gentle,         \* ghost: no request touched another owner's key
    finished        \* ghost, per node: owner tokens whose end it has executed and not forgotten

vars == <<now, key, fence, marker, life, phase, tok, last, vu, reqs, reps, top, ordered, gentle, finished>>
server == <<key, fence, marker, life, gentle, finished>>
client == <<phase, tok, last, vu, top, ordered>>

Nobody == 0
NoKey == [o |-> Nobody, exp |-> 0]
Old == 0 - Quarantine           \* a marker of long ago
Absent == MaxTime + Quarantine  \* no marker: as if born in the future
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
MaxOf(set) == CHOOSE h \in set : \A g \in set : g <= h
IsQuorum(set) == 2 * Cardinality(set) > Cardinality(Nodes)
Symmetric == Permutations(Nodes)

IsBallot(m) == m.t = "acquire" \/ m.t = "repair"
High(o) == MaxOf({0} \cup {m.cand + Reserve - 1 : m \in {b \in reqs : b.to = o /\ IsBallot(b)}})
Count(t, o) == Cardinality({m \in reqs : m.t = t /\ m.to = o})
RECURSIVE Sum(_, _)
Sum(f, set) == IF set = {} THEN 0 ELSE LET x == CHOOSE x \in set : TRUE IN f[x] + Sum(f, set \ {x})
MayForget == MaxForgets > 0 /\ Sum(life, Nodes) < MaxForgets

Init ==
    /\ now = 1
    /\ key = [n \in Nodes |-> NoKey] /\ fence = [n \in Nodes |-> 0]
    /\ marker = [n \in Nodes |-> Old] /\ life = [n \in Nodes |-> 0]
    /\ phase = [o \in Attempts |-> "idle"]
    /\ tok = [o \in Attempts |-> 0] /\ last = tok /\ vu = tok
    /\ reqs = {} /\ reps = {}
    /\ top = 0 /\ ordered = TRUE /\ gentle = TRUE
    /\ finished = [n \in Nodes |-> {}]

-----------------------------------------------------------------------------
(* Time. Votes that no client can use any more are removed from the state.  *)

Useful(r, t, ph, until) ==
    \/ r.t = "absent" /\ r.life = life[r.n] /\ marker[r.n] = Absent
    \/ r.t = "vote" /\ \/ ph[r.o] = "trying" /\ r.s + Ttl - Drift > t
                       \/ ph[r.o] = "held" /\ r.s + Ttl - Drift > Max(t, until[r.o])

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ key' = [n \in Nodes |-> IF now' >= key[n].exp THEN NoKey ELSE key[n]]
    /\ reps' = {r \in reps : Useful(r, now', phase, vu)}
    /\ UNCHANGED <<fence, marker, life, client, reqs, gentle, finished>>

-----------------------------------------------------------------------------
(* The nodes. One action is one run of a script at one node.                *)

\* The key in the view of the node: with a fast clock, it may have expired already.
Found(n) == IF key[n].o # Nobody /\ now >= key[n].exp - Slack THEN {key[n], NoKey} ELSE {key[n]}

Incr == Broken = "incr-fencing"
Stale(c, n) == ~Incr /\ Broken # "no-fence-check" /\ c <= fence[n]
TooFar(c, n) == ~Incr /\ c + Reserve - 1 > Max(fence[n], now) + Bound
Raised(n, o) == IF Incr THEN fence[n] ELSE Max(fence[n], Min(High(o), Max(fence[n], now) + Bound))
Trusted(n, m) ==
    IF Broken = "age-at-arrival" THEN now - marker[n] >= Quarantine
    ELSE m.s - marker[n] >= Quarantine

Vote(n, o, c, s, v) == [t |-> "vote", n |-> n, o |-> o, cand |-> c, s |-> s, v |-> v]
Tell(set) == reps' = reps \cup {r \in set : Useful(r, now, phase, vu)}

\* acquire.lua, for a first request, a further ballot and a repair.
NodeGrant(n, m) ==
    /\ IsBallot(m) /\ n \in m.at
    /\ Trusted(n, m)
    /\ ~Stale(m.cand, n) /\ ~TooFar(m.cand, n)
    /\ \E k \in Found(n) :
        /\ k.o \in {m.to, Nobody}
        /\ key' = [key EXCEPT ![n] = [o |-> m.to, exp |-> Max(k.exp, now + Ttl)]]
    /\ LET f == IF Incr THEN fence[n] + 1 ELSE m.cand + Reserve - 1 IN
        /\ fence' = [fence EXCEPT ![n] = IF Broken = "own-without-raise" /\ key[n].o = m.to THEN @ ELSE Max(@, f)]
        /\ Tell({Vote(n, m.to, m.cand, m.s, IF Incr THEN f ELSE m.cand)})
    /\ reqs' = IF Broken = "undo-of-a-late-yes" /\ phase[m.to] = "held" /\ m.t = "acquire"
               THEN reqs \cup {[t |-> "undo", to |-> m.to, at |-> {n}]} ELSE reqs
    /\ UNCHANGED <<marker, life, gentle, finished>>

\* acquire.lua at a node without a marker.
NodeRefuse(n, m) ==
    /\ IsBallot(m) /\ n \in m.at
    /\ marker[n] = Absent
    /\ IF Broken = "birth-from-a-late-request"
       THEN marker' = [marker EXCEPT ![n] = m.s] /\ UNCHANGED reps
       ELSE Tell({[t |-> "absent", n |-> n, life |-> life[n]]}) /\ UNCHANGED marker
    /\ UNCHANGED <<reqs, key, fence, life, gentle, finished>>

\* The second half of the birth of a marker: only the life that a client saw without a marker may get it.
NodeBirth(n, m) ==
    /\ m.t = "birth" /\ n \in m.at
    /\ marker[n] = Absent
    /\ m.life = life[n] \/ Broken = "birth-of-any-life"
    /\ marker' = [marker EXCEPT ![n] = m.s]
    /\ UNCHANGED <<reqs, reps, key, fence, life, gentle, finished>>

\* renew.lua.
NodeRenew(n, m) ==
    /\ m.t = "renew" /\ n \in m.at
    /\ \E k \in Found(n) :
        /\ k.o = m.to
        /\ key' = [key EXCEPT ![n].exp = Max(@, now + Ttl)]
    /\ Tell({Vote(n, m.to, 0, m.s, 0)})
    /\ UNCHANGED <<reqs, fence, marker, life, gentle, finished>>

\* release.lua: release and undo.
NodeRelease(n, m) ==
    /\ m.t \in {"release", "undo"} /\ n \in m.at
    /\ \E k \in Found(n) :
        LET mine == k.o = m.to \/ Broken = "delete-without-compare" IN
        /\ key' = [key EXCEPT ![n] = IF mine THEN NoKey ELSE k]
        /\ gentle' = (gentle /\ (mine => k.o \in {m.to, Nobody}))
    /\ fence' = [fence EXCEPT ![n] = Raised(n, m.to)]
    /\ finished' = IF m.t = "undo" THEN finished ELSE [finished EXCEPT ![n] = @ \cup {m.to}]
    /\ UNCHANGED <<reqs, reps, marker, life>>

\* An empty restart, FLUSHALL, a full copy from an empty node.
Forget(n) ==
    /\ MayForget
    /\ key' = [key EXCEPT ![n] = NoKey]
    /\ fence' = [fence EXCEPT ![n] = 0]
    /\ marker' = [marker EXCEPT ![n] = IF Broken = "no-quarantine" THEN Old ELSE Absent]
    /\ life' = [life EXCEPT ![n] = @ + 1]
    /\ finished' = [finished EXCEPT ![n] = {}]
    /\ UNCHANGED <<reqs, reps, gentle>>

Node ==
    /\ \E n \in Nodes :
        \/ Forget(n)
        \/ \E m \in reqs :
            NodeGrant(n, m) \/ NodeRefuse(n, m) \/ NodeBirth(n, m) \/ NodeRenew(n, m) \/ NodeRelease(n, m)
    /\ UNCHANGED <<now, client>>

-----------------------------------------------------------------------------
(* The clients.                                                             *)

Show(t) == top' = Max(top, t) /\ ordered' = (ordered /\ t > top)
NoShow == UNCHANGED <<top, ordered>>
IsNext(o) == phase[o] = "idle" /\ \A p \in Attempts : p < o => phase[p] # "idle"

\* To all nodes at once: a first request, a recheck, or another ballot.
SendAcquire(o) ==
    /\ phase[o] = "trying" \/ IsNext(o)
    /\ Count("acquire", o) < MaxBallots
    /\ \E k \in Leads :
        /\ now + k > High(o)
        /\ reqs' = reqs \cup {[t |-> "acquire", to |-> o, at |-> Nodes, cand |-> now + k, s |-> now]}
    /\ phase' = [phase EXCEPT ![o] = "trying"]
    /\ UNCHANGED <<tok, last, vu, reps>> /\ NoShow

\* A quorum of votes for one ballot.
Win(r) ==
    /\ r.t = "vote" /\ phase[r.o] = "trying"
    /\ now < r.s + Ttl - Drift
    /\ LET all == {x \in reps : x.t = "vote" /\ x.o = r.o /\ x.cand = r.cand /\ x.s = r.s} IN
       \E votes \in IF Incr THEN SUBSET all ELSE {all} :
        /\ IsQuorum({x.n : x \in votes})
        /\ LET t == MaxOf({x.v : x \in votes}) IN
            /\ tok' = [tok EXCEPT ![r.o] = t]
            /\ last' = [last EXCEPT ![r.o] = t + Reserve - 1]
            /\ Show(t)
    /\ phase' = [phase EXCEPT ![r.o] = "held"]
    /\ vu' = [vu EXCEPT ![r.o] = r.s + Ttl - Drift]
    /\ reps' = {x \in reps : Useful(x, now, phase', vu')}
    /\ UNCHANGED reqs

\* Local hand-over: the next lease from the same grant.
NextLease(o) ==
    /\ phase[o] = "held" /\ now < vu[o] /\ tok[o] < last[o]
    /\ tok' = [tok EXCEPT ![o] = @ + 1]
    /\ Show(tok[o] + 1)
    /\ UNCHANGED <<phase, last, vu, reqs, reps>>

SendRenew(o) ==
    /\ phase[o] = "held" /\ now < vu[o]
    /\ Count("renew", o) < MaxRenewals
    /\ reqs' = reqs \cup {[t |-> "renew", to |-> o, at |-> Nodes, s |-> now]}
    /\ UNCHANGED <<phase, tok, last, vu, reps>> /\ NoShow

\* A fresh ballot for one node without the key.
SendRepair(o, n) ==
    /\ phase[o] = "held" /\ now < vu[o] /\ key[n].o # o
    /\ Count("repair", o) < MaxRepairs
    /\ \E k \in Leads :
        /\ now + k > High(o)
        /\ reqs' = reqs \cup {[t |-> "repair", to |-> o, at |-> {n}, cand |-> now + k, s |-> now]}
    /\ UNCHANGED <<phase, tok, last, vu, reps>> /\ NoShow

\* A quorum of nodes has kept or taken the key for requests sent at r.s or later: renewals, repairs and late votes.
Extend(r) ==
    /\ r.t = "vote" /\ phase[r.o] = "held" /\ now < vu[r.o]
    /\ IsQuorum({x.n : x \in {y \in reps : y.t = "vote" /\ y.o = r.o /\ y.s >= r.s}})
    /\ vu' = [vu EXCEPT ![r.o] = Max(@, r.s + Ttl - Drift)]
    /\ reps' = {x \in reps : Useful(x, now, phase, vu')}
    /\ UNCHANGED <<phase, tok, last, reqs>> /\ NoShow

SendRelease(o) ==
    /\ phase[o] \in {"trying", "held"}
    /\ phase' = [phase EXCEPT ![o] = "ended"]
    /\ tok' = [tok EXCEPT ![o] = 0]
    /\ last' = [last EXCEPT ![o] = 0]
    /\ vu' = [vu EXCEPT ![o] = 0]
    /\ reqs' = reqs \cup {[t |-> "release", to |-> o, at |-> Nodes]}
    /\ reps' = {x \in reps : Useful(x, now, phase', vu')}
    /\ NoShow

\* A client that receives the reply of a node without a marker sends the birth, by the clock at this moment, and names the life.
SendBirth(r) ==
    /\ r.t = "absent"
    /\ \A m \in reqs : m.t = "birth" => ~(m.at = {r.n} /\ m.life = r.life)
    /\ reqs' = reqs \cup {[t |-> "birth", at |-> {r.n}, life |-> r.life, s |-> now, to |-> Nobody]}
    /\ reps' = reps \ {r}
    /\ UNCHANGED <<phase, tok, last, vu>> /\ NoShow

Client ==
    /\ \/ \E o \in Attempts :
            \/ SendAcquire(o) \/ NextLease(o) \/ SendRenew(o) \/ SendRelease(o)
            \/ \E n \in Nodes : SendRepair(o, n)
       \/ \E r \in reps : Win(r) \/ Extend(r) \/ SendBirth(r)
    /\ UNCHANGED <<now, server>>

Next == Tick \/ Node \/ Client
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view, which distinguishes states. As in SingleNode, it keeps only    *)
(* the number of requests without any further effect.                       *)

Overtaken(m) == \A n \in m.at : m.cand <= fence[n]
IsClosed(o) ==
    \A n \in Nodes :
        /\ o \in finished[n] /\ key[n].o # o
        /\ \A m \in reqs : m.to = o /\ IsBallot(m) /\ n \in m.at => m.cand <= fence[n]
IsDead(m, closed) ==
    CASE IsBallot(m)    -> Overtaken(m)
      [] m.t = "birth"  -> FALSE
      [] OTHER          -> m.to \in closed
View ==
    LET closed == IF MayForget THEN {} ELSE {o \in Attempts : IsClosed(o)} IN
    <<now, key, fence, marker, life, phase, tok, last, vu, reps, top, ordered, gentle, finished,
      IF Broken = "none" /\ ~MayForget THEN {m \in reqs : ~IsDead(m, closed)} ELSE reqs,
      [o \in Attempts |-> IF o \in closed THEN <<>>
                          ELSE <<High(o), Count("acquire", o), Count("renew", o), Count("repair", o)>>]>>

-----------------------------------------------------------------------------
Holding(o) == phase[o] = "held" /\ now < vu[o]

S1 == \A o, p \in Attempts : Holding(o) /\ Holding(p) => o = p
S2 == ordered
S4 == gentle /\ \A n \in Nodes : key[n].o \notin finished[n]

(* Witnesses: that these fail shows that the checks above are not empty.    *)

NeverRepaired == \A m \in reqs : m.t = "repair" /\ Holding(m.to) =>
    ~(/\ vu[m.to] = m.s + Ttl - Drift
      /\ \A a \in reqs : a.t = "acquire" /\ a.to = m.to => a.s < m.s
      /\ {n \in Nodes : key[n].o = m.to} # Nodes
      /\ \A n \in m.at : key[n].o = m.to)
NeverTrustedAgain == \A n \in Nodes : life[n] > 0 /\ marker[n] \notin {Old, Absent} => ~(\E o \in Attempts : Holding(o) /\ key[n].o = o)
=============================================================================

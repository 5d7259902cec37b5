------------------------------- MODULE Ticket -------------------------------
(***************************************************************************)
(* A lease that travels: the holder exports it and gets a ticket, and any  *)
(* process that has the ticket may resume. One node or several.            *)
(*                                                                         *)
(* Export is the end of the holder's owner token at every node. In its     *)
(* place, it writes the ticket's owner token, for the claim. Resume is one *)
(* swap of the ticket's owner token for a fresh one of the claimant and    *)
(* nothing else: it never takes a free key.                                *)
(*                                                                         *)
(* At one node the swap begins the ttl. Over several it is a vote, which   *)
(* keeps the end of the claim; the ttl begins with a second round, once a  *)
(* quorum has voted. A claimant whose votes cannot win returns them to  *)
(* the ticket, and does not use its owner token again.                     *)
(*                                                                         *)
(* The network is that of Quorum. Nodes do not forget, and clocks do not   *)
(* drift. A behaviour begins with the holder: some quorum has granted it,  *)
(* and its acquire may still arrive at the others.                         *)
(*                                                                         *)
(* Broken names the rule that is left out; "none" is the protocol.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Nodes,
    Claimants,      \* owner tokens of attempts that resume, from 3 on
    Rivals,         \* owner tokens of attempts that acquire, after them
    MaxTime, Ttl, Claim,
    Leads,          \* a candidate is now + one of these
    MaxBallots,     \* maximum requests to acquire or resume of one owner token
    MaxRenewals,    \* maximum renewals of one owner token
    Broken

VARIABLES
    now,
    key, fence,     \* per node
    phase,          \* the state of each owner token in the view of its client
    vu,             \* valid until; of the ticket: the moment until which no other attempt can hold
    reqs, reps,
    top, ordered,   \* ghost: the largest token shown, and whether each was larger than all before
    used,           \* ghost: a claimant has won the votes, and its ttl may begin
    shown,          \* ghost: claimants and rivals that were shown a lease
    between,        \* ghost: a claimant was shown a lease after a rival
    finished        \* ghost, per node: owner tokens that must not come back

vars == <<now, key, fence, phase, vu, reqs, reps, top, ordered, used, shown, between, finished>>
server == <<key, fence, finished>>
client == <<phase, vu, top, ordered, used, shown, between>>

Nobody == 0
Holder == 1
Secret == 2         \* the ticket's owner token
Owners == {Holder, Secret} \cup Claimants \cup Rivals
NoKey == [o |-> Nobody, exp |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
MaxOf(set) == CHOOSE h \in set \cup {0} : \A g \in set : g <= h
IsQuorum(set) == 2 * Cardinality(set) > Cardinality(Nodes)
OneNode == Cardinality(Nodes) = 1
Symmetric == Permutations(Nodes)

Count(t, o) == Cardinality({m \in reqs : m.t = t /\ m.to = o})
High(o) == MaxOf({m.cand : m \in {r \in reqs : r.to = o}})

Init ==
    /\ now = 1
    /\ \E votes \in SUBSET Nodes :
        /\ IsQuorum(votes)
        /\ key = [n \in Nodes |-> IF n \in votes THEN [o |-> Holder, exp |-> 1 + Ttl] ELSE NoKey]
        /\ fence = [n \in Nodes |-> IF n \in votes THEN 1 ELSE 0]
    /\ phase = [o \in Owners |-> IF o = Holder THEN "held" ELSE "idle"]
    /\ vu = [o \in Owners |-> IF o = Holder THEN 1 + Ttl ELSE 0]
    /\ reqs = {[t |-> "acquire", to |-> Holder, cand |-> 1, s |-> 1]} /\ reps = {}
    /\ top = 1 /\ ordered = TRUE /\ used = FALSE /\ shown = {} /\ between = FALSE
    /\ finished = [n \in Nodes |-> {}]

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ key' = [n \in Nodes |-> IF now' >= key[n].exp THEN NoKey ELSE key[n]]
    /\ reps' = {r \in reps : r.until > now'}
    /\ UNCHANGED <<fence, client, reqs, finished>>

-----------------------------------------------------------------------------
(* The nodes. One action is one run of a script at one node. A vote gives   *)
(* the moment until which the key exists, by the clock of the client that   *)
(* asked: the remaining time of the key, counted from the send.             *)

Tell(n, m, left) ==
    reps' = IF phase[m.to] \in {"trying", "holding", "held", "exporting"} /\ m.s + left > now
            THEN reps \cup {[t |-> m.t, n |-> n, o |-> m.to, cand |-> m.cand, s |-> m.s, until |-> m.s + left]} ELSE reps

NodeAcquire(n, m) ==
    /\ m.t = "acquire" /\ m.cand > fence[n] /\ key[n].o \in {m.to, Nobody}
    /\ key' = [key EXCEPT ![n] = [o |-> m.to, exp |-> Max(@.exp, now + Ttl)]]
    /\ fence' = [fence EXCEPT ![n] = m.cand]
    /\ Tell(n, m, Ttl)
    /\ UNCHANGED finished

NodeRenew(n, m) ==
    /\ m.t = "renew" /\ key[n].o = m.to
    /\ key' = [key EXCEPT ![n].exp = Max(@, now + Ttl)]
    /\ Tell(n, m, Ttl)
    /\ UNCHANGED <<fence, finished>>

NodeEnd(n, m) ==
    /\ m.t = "end"
    /\ key' = [key EXCEPT ![n] = IF @.o = m.to THEN NoKey ELSE @]
    /\ fence' = [fence EXCEPT ![n] = Max(@, High(m.to))]
    /\ finished' = [finished EXCEPT ![n] = @ \cup {m.to}]
    /\ UNCHANGED reps

\* The end of the holder, and the ticket in its place.  A repetition changes nothing and returns the remaining time of the claim.
NodeExport(n, m) ==
    /\ m.t = "export"
    /\ key' = [key EXCEPT ![n] = IF @.o = Holder THEN [o |-> Secret, exp |-> now + Claim] ELSE @]
    /\ fence' = IF Broken = "export-does-not-raise" THEN fence ELSE [fence EXCEPT ![n] = Max(@, High(Holder))]
    /\ finished' = [finished EXCEPT ![n] = @ \cup {Holder}]
    /\ IF key'[n].o = Secret THEN Tell(n, m, key'[n].exp - now) ELSE UNCHANGED reps

\* The swap.  At one node it is the whole win: the ttl begins, and the rest of the claim ends; a key of one's own never ends
\* earlier.  Over several it is a vote, and keeps the end of the claim.
NodeResume(n, m) ==
    LET o == IF Broken = "resume-as-acquire" THEN Secret ELSE m.to
        begins == OneNode \/ Broken = "vote-begins-the-ttl"
        left == IF key[n].o = Nobody \/ (begins /\ key[n].o # o) THEN Ttl
                ELSE IF begins THEN Max(Ttl, key[n].exp - now) ELSE key[n].exp - now IN
    /\ m.t = "resume"
    /\ m.cand > fence[n] \/ Broken = "resume-below-the-fence"
    /\ \/ key[n].o \in {Secret, o}
       \/ key[n].o = Nobody /\ Broken \in {"resume-as-acquire", "resume-takes-free"}
    /\ key' = [key EXCEPT ![n] = [o |-> o, exp |-> now + left]]
    /\ fence' = [fence EXCEPT ![n] = Max(@, m.cand)]
    /\ finished' = [finished EXCEPT ![n] = @ \cup (IF OneNode THEN {Secret} \ {o} ELSE {})]
    /\ Tell(n, m, left)

\* The second round of a claimant that has the votes of a quorum: the ttl replaces the rest of the claim.
NodeHold(n, m) ==
    /\ m.t = "hold" /\ m.cand > fence[n] /\ key[n].o \in {Secret, m.to}
    /\ key' = [key EXCEPT ![n] = [o |-> m.to, exp |-> now + Ttl]]
    /\ fence' = [fence EXCEPT ![n] = m.cand]
    /\ Tell(n, m, Ttl)
    /\ UNCHANGED finished

\* A vote that is returned.
NodeBack(n, m) ==
    /\ m.t = "back"
    /\ key' = IF key[n].o # m.to THEN key
              ELSE [key EXCEPT ![n] = IF Broken = "back-frees" THEN NoKey ELSE [o |-> Secret, exp |-> @.exp]]
    /\ fence' = IF Broken = "back-does-not-raise" THEN fence ELSE [fence EXCEPT ![n] = Max(@, High(m.to))]
    /\ finished' = [finished EXCEPT ![n] = @ \cup (IF Broken = "back-and-again" THEN {} ELSE {m.to})]
    /\ UNCHANGED reps

Node ==
    /\ \E n \in Nodes, m \in reqs :
        NodeAcquire(n, m) \/ NodeRenew(n, m) \/ NodeEnd(n, m) \/ NodeExport(n, m) \/ NodeResume(n, m)
            \/ NodeHold(n, m) \/ NodeBack(n, m)
    /\ UNCHANGED <<now, client, reqs>>

-----------------------------------------------------------------------------
(* The clients.                                                             *)

Holding(o) == phase[o] = "held" /\ now < vu[o]
Send(t, o, c) == reqs' = reqs \cup {[t |-> t, to |-> o, cand |-> c, s |-> now]}
Ghosts == UNCHANGED <<top, ordered, used, shown, between>>

\* The result of a quorum of replies: the quorum-th largest of their ends.
Until(votes) == MaxOf({u \in {r.until : r \in votes} : IsQuorum({r.n : r \in {x \in votes : x.until >= u}})})

\* Of several that could start, the first one starts: they differ only in their numbers.
IsNext(o, set) == phase[o] = "trying" \/ (phase[o] = "idle" /\ \A p \in set : p < o => phase[p] # "idle")

\* Acquire, or resume: the same owner token with another ballot, as often as needed.
Ask(t, o) ==
    /\ Count(t, o) < MaxBallots
    /\ \E c \in {now + d : d \in Leads} : c > High(o) /\ Send(t, o, c)
    /\ phase' = [phase EXCEPT ![o] = "trying"]
    /\ UNCHANGED <<vu, reps>> /\ Ghosts
SendAcquire(o) == o \in Rivals /\ IsNext(o, Rivals) /\ Ask("acquire", o)
SendResume(o) == o \in Claimants /\ phase[Secret] = "exported" /\ IsNext(o, Claimants) /\ Ask("resume", o)

\* The replies of one ballot.
Of(r) == {x \in reps : x.o = r.o /\ x.t = r.t /\ x.cand = r.cand /\ x.s = r.s}

\* Over several nodes, a claimant that has the votes asks for the ttl.
SendHold(r) ==
    /\ r.t = "resume" /\ ~OneNode /\ phase[r.o] = "trying"
    /\ now < Until(Of(r))
    /\ Send("hold", r.o, High(r.o) + 1)
    /\ phase' = [phase EXCEPT ![r.o] = "holding"]
    /\ used' = TRUE
    /\ reps' = {x \in reps : x.o # r.o}
    /\ UNCHANGED <<vu, top, ordered, shown, between>>

Win(r) ==
    /\ \/ r.t \in {"acquire", "resume"} /\ phase[r.o] = "trying" /\ (r.t = "acquire" \/ OneNode)
       \/ r.t = "hold" /\ phase[r.o] = "holding"
    /\ LET until == Until(Of(r)) IN
        /\ now < until
        /\ vu' = [vu EXCEPT ![r.o] = until]
    /\ phase' = [phase EXCEPT ![r.o] = "held"]
    /\ top' = Max(top, r.cand) /\ ordered' = (ordered /\ r.cand > top)
    /\ shown' = shown \cup {r.o}
    /\ between' = (between \/ (r.o \in Claimants /\ shown \cap Rivals # {}))
    /\ reps' = {x \in reps : x.o # r.o \/ x.until > vu'[r.o]}
    /\ UNCHANGED <<reqs, used>>

\* Votes that cannot win go back to the ticket: over several nodes only, since one vote is all at one node.
SendBack(o) ==
    /\ ~OneNode /\ o \in Claimants /\ phase[o] \in {"trying", "holding"}
    /\ Send("back", o, 0)
    /\ phase' = IF Broken = "back-and-again" THEN phase ELSE [phase EXCEPT ![o] = "ended"]
    /\ reps' = IF Broken = "back-and-again" THEN reps ELSE {r \in reps : r.o # o}
    /\ UNCHANGED vu /\ Ghosts

SendRenew(o) ==
    /\ Holding(o) /\ o # Holder /\ Count("renew", o) < MaxRenewals
    /\ Send("renew", o, 0)
    /\ UNCHANGED <<phase, vu, reps>> /\ Ghosts

Renewed(r) ==
    /\ r.t = "renew" /\ Holding(r.o)
    /\ LET until == Until({x \in reps : x.o = r.o}) IN
        /\ until > vu[r.o]
        /\ vu' = [vu EXCEPT ![r.o] = until]
    /\ reps' = {x \in reps : x.o # r.o \/ x.until > vu'[r.o]}
    /\ UNCHANGED <<phase, reqs>> /\ Ghosts

\* The handle ends before the request leaves.
SendExport ==
    /\ Holding(Holder)
    /\ Send("export", Holder, 0)
    /\ phase' = [phase EXCEPT ![Holder] = "exporting", ![Secret] = IF Broken = "unconfirmed-export" THEN "exported" ELSE @]
    /\ vu' = [vu EXCEPT ![Holder] = 0, ![Secret] = IF Broken = "unconfirmed-export" THEN now + Claim ELSE 0]
    /\ UNCHANGED reps /\ Ghosts

\* The ticket is returned when a quorum has it.
Exported ==
    /\ phase[Holder] = "exporting" /\ phase[Secret] = "idle"
    /\ LET until == Until({x \in reps : x.t = "export"}) IN
        /\ now < until
        /\ vu' = [vu EXCEPT ![Secret] = until]
    /\ phase' = [phase EXCEPT ![Secret] = "exported", ![Holder] = "ended"]
    /\ reps' = {x \in reps : x.t # "export"}
    /\ UNCHANGED reqs /\ Ghosts

\* Release; of a rival also undo.  A claimant that has not won undoes nothing: it asks again, returns its votes or stops.
SendEnd(o) ==
    /\ \/ phase[o] = "held" /\ o # Holder
       \/ phase[o] = "trying" /\ (o \in Rivals \/ Broken = "resume-undone")
    /\ phase' = [phase EXCEPT ![o] = "ended"]
    /\ Send("end", o, 0)
    /\ reps' = {r \in reps : r.o # o}
    /\ vu' = [vu EXCEPT ![o] = 0]
    /\ Ghosts

Client ==
    /\ \/ SendExport \/ Exported
       \/ \E o \in Owners : SendAcquire(o) \/ SendResume(o) \/ SendRenew(o) \/ SendEnd(o) \/ SendBack(o)
       \/ \E r \in reps : SendHold(r) \/ Win(r) \/ Renewed(r)
    /\ UNCHANGED <<now, server>>

Next == Tick \/ Node \/ Client
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view, which distinguishes states.  It leaves out ballots that every  *)
(* node's fence has overtaken, except for their number.  It also leaves out *)
(* all requests of an owner token that has ended everywhere.                *)

Overtaken(m) == m.t \in {"acquire", "resume", "hold"} /\ \A n \in Nodes : m.cand <= fence[n]
IsClosed(o) ==
    /\ phase[o] = "ended"
    /\ \A n \in Nodes : o \in finished[n] /\ key[n].o # o
    /\ \A m \in reqs : m.to = o /\ m.t \in {"acquire", "resume", "hold"} => Overtaken(m)
View ==
    LET closed == IF Broken = "none" THEN {o \in Owners : IsClosed(o)} ELSE {} IN
    <<now, key, fence, phase, vu, reps, top, ordered, used, shown, between, finished,
      IF Broken = "none" THEN {m \in reqs : ~Overtaken(m) /\ m.to \notin closed} ELSE reqs,
      [o \in Owners |-> IF o \in closed THEN <<>>
                        ELSE <<High(o), Count("acquire", o), Count("resume", o), Count("renew", o)>>]>>

-----------------------------------------------------------------------------
S1 == \A o, p \in Owners : Holding(o) /\ Holding(p) => o = p
S2 == ordered
S4 == \A n \in Nodes : key[n].o \notin finished[n]
Resumed == shown \cap Claimants
ResumedOnce == Cardinality(Resumed) <= 1
\* No rival is shown a lease before a claimant, nor while the ticket may still be used.  At one node a swap uses the ticket, and
\* over several the second round, even if no claimant hears of it: its ttl may end before the claim would have.
Used == used \/ (OneNode /\ \E n \in Nodes : Secret \in finished[n])
NobodyBetween ==
    /\ ~between
    /\ \A p \in Rivals : Holding(p) /\ now < vu[Secret] => Used \/ \E c \in Resumed : phase[c] = "ended"

(* Witnesses.                                                               *)
NeverAfterTheClaim == ~(\E c \in Resumed : Holding(c) /\ vu[Secret] <= now)
=============================================================================

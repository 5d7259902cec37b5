-------------------------------- MODULE Slots --------------------------------
(***************************************************************************)
(* Permits: k numbered slots, each held by one owner token.                *)
(*                                                                         *)
(* One node: a request names no slot. The script searches its own owner    *)
(* token in every slot, then takes the lowest free slots, all or none. One *)
(* fence guards all slots.                                                 *)
(*                                                                         *)
(* Several nodes: each slot is an exclusive lock with its own fence, and   *)
(* the owner token is bound to the slot that its request names.            *)
(*                                                                         *)
(* In pieces (Piecewise): the store grants one slot at a time. A client    *)
(* that cannot get all slots that it wants releases those that it has.     *)
(*                                                                         *)
(* The network is that of Quorum. Nodes do not forget, clocks do not       *)
(* drift, and the queue is that of SingleNode and ReadWrite.               *)
(*                                                                         *)
(* Broken names the rule that is left out; "none" is the protocol.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Nodes,
    Attempts,       \* 1..a: one owner token each, numbered in the order of their start
    K,              \* slots
    Wanted,         \* the numbers of permits that an attempt may want
    Piecewise,
    MaxTime, Ttl,
    Leads,          \* a candidate is now + one of these
    MaxBallots, MaxRenewals,
    Broken

VARIABLES
    now,
    slot, fence,    \* per node and slot
    want, aim,      \* of each attempt: the number of permits, and over several nodes the slot
    phase, mine, vu,\* the state in the view of its client; mine: the slots that it was shown
    reqs, reps,
    top, ordered,   \* ghost: per slot the largest token shown, and whether each was larger than those before
    finished        \* ghost, per node

vars == <<now, slot, fence, want, aim, phase, mine, vu, reqs, reps, top, ordered, finished>>
server == <<slot, fence, finished>>
fixed == <<want, aim>>

Slots == 1..K
Nobody == 0
Free == [o |-> Nobody, exp |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
MaxOf(set) == CHOOSE h \in set \cup {0} : \A g \in set : g <= h
IsQuorum(set) == 2 * Cardinality(set) > Cardinality(Nodes)
Symmetric == Permutations(Nodes)
OneNode == Cardinality(Nodes) = 1
Counting == Broken = "counting"
Chooses == OneNode \/ Counting              \* the node chooses the slots
Beats(c, f) == c > f \/ Counting             \* counts have no fence
Single == Chooses /\ Broken # "fence-per-slot"

Count(t, o) == Cardinality({m \in reqs : m.t = t /\ m.to = o})
High(o) == MaxOf({m.cand + want[o] - 1 : m \in {r \in reqs : r.to = o /\ r.t = "acquire"}})

Init ==
    /\ now = 1
    /\ slot = [n \in Nodes |-> [i \in Slots |-> Free]]
    /\ fence = [n \in Nodes |-> [i \in Slots |-> 0]]
    /\ want \in [Attempts -> Wanted]
    /\ aim \in [Attempts -> IF Chooses THEN {1} ELSE Slots] /\ aim[1] = 1     \* slots differ only in their numbers
    /\ phase = [o \in Attempts |-> "idle"] /\ mine = [o \in Attempts |-> {}] /\ vu = [o \in Attempts |-> 0]
    /\ reqs = {} /\ reps = {}
    /\ top = [i \in Slots |-> 0] /\ ordered = TRUE
    /\ finished = [n \in Nodes |-> {}]

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ slot' = [n \in Nodes |-> [i \in Slots |-> IF now' >= slot[n][i].exp THEN Free ELSE slot[n][i]]]
    /\ reps' = {r \in reps : r.s + Ttl > now'}
    /\ UNCHANGED <<fence, fixed, phase, mine, vu, reqs, top, ordered, finished>>

-----------------------------------------------------------------------------
(* The nodes.                                                               *)

Own(n, o) == {i \in Slots : slot[n][i].o = o}
\* Slots that this ballot may take.
Open(n, m) == {i \in Slots : slot[n][i].o = Nobody /\ Beats(m.cand, fence[n][i]) /\ (Chooses \/ i = aim[m.to])}
Lowest(set, count) == CHOOSE s \in SUBSET set : Cardinality(s) = count /\ \A i \in s, j \in set \ s : i < j

\* Its own slots if it has any, else the lowest that are open: all that it wants or none.  In pieces, each ballot takes one more.
Taken(n, m) ==
    LET own == IF Broken = "no-look-for-own" THEN {} ELSE Own(n, m.to)
        open == Open(n, m) IN
    IF Piecewise THEN IF open = {} \/ Cardinality(own) = want[m.to] THEN own ELSE own \cup Lowest(open, 1)
    ELSE IF own # {} THEN own
    ELSE IF Cardinality(open) < want[m.to] THEN {} ELSE Lowest(open, want[m.to])

\* The fence is raised for the slots of a grant, or for all slots if one fence guards them.
Raise(n, set, f) == IF Counting THEN fence ELSE [fence EXCEPT ![n] = [i \in Slots |-> IF Single \/ i \in set THEN Max(@[i], f) ELSE @[i]]]

Tell(n, m, set) ==
    reps' = IF phase[m.to] \in {"trying", "held"} /\ set # {}
            THEN reps \cup {[t |-> m.t, n |-> n, o |-> m.to, cand |-> m.cand, s |-> m.s, slots |-> set]} ELSE reps

NodeAcquire(n, m) ==
    LET set == Taken(n, m) IN
    /\ m.t = "acquire" /\ set # {}
    /\ \A i \in set : Beats(m.cand, fence[n][i])
    /\ slot' = [slot EXCEPT ![n] = [i \in Slots |-> IF i \in set THEN [o |-> m.to, exp |-> Max(@[i].exp, now + Ttl)] ELSE @[i]]]
    /\ fence' = Raise(n, set, m.cand + want[m.to] - 1)
    /\ Tell(n, m, set)
    /\ UNCHANGED finished

NodeRenew(n, m) ==
    LET set == Own(n, m.to) IN
    /\ m.t = "renew" /\ set # {}
    /\ slot' = [slot EXCEPT ![n] = [i \in Slots |-> IF i \in set THEN [@[i] EXCEPT !.exp = Max(@, now + Ttl)] ELSE @[i]]]
    /\ Tell(n, m, set)
    /\ UNCHANGED <<fence, finished>>

NodeEnd(n, m) ==
    LET set == Own(n, m.to) IN
    /\ m.t = "end"
    /\ slot' = [slot EXCEPT ![n] = [i \in Slots |-> IF i \in set THEN Free ELSE @[i]]]
    /\ fence' = Raise(n, set \cup (IF Chooses THEN {} ELSE {aim[m.to]}), High(m.to))
    /\ finished' = [finished EXCEPT ![n] = @ \cup {m.to}]
    /\ UNCHANGED reps

Node ==
    /\ \E n \in Nodes, m \in reqs : NodeAcquire(n, m) \/ NodeRenew(n, m) \/ NodeEnd(n, m)
    /\ UNCHANGED <<now, fixed, phase, mine, vu, reqs, top, ordered>>

-----------------------------------------------------------------------------
(* The clients.                                                             *)

Holding(o) == phase[o] = "held" /\ now < vu[o]
IsNext(o) == phase[o] = "idle" /\ \A p \in Attempts : p < o => phase[p] # "idle"
Send(t, o, c) == reqs' = reqs \cup {[t |-> t, to |-> o, cand |-> c, s |-> now]}
Ghosts == UNCHANGED <<top, ordered>>

SendAcquire(o) ==
    /\ phase[o] = "trying" \/ IsNext(o)
    /\ Count("acquire", o) < MaxBallots
    /\ \E d \in Leads : now + d > High(o) /\ Send("acquire", o, now + d)
    /\ phase' = [phase EXCEPT ![o] = "trying"]
    /\ UNCHANGED <<mine, vu, reps>> /\ Ghosts

\* A quorum has said yes to one ballot, and to the same slots unless permits are counted.
Win(r) ==
    LET votes == {x \in reps : x.o = r.o /\ x.t = "acquire" /\ x.cand = r.cand /\ x.s = r.s /\ (Counting \/ x.slots = r.slots)} IN
    /\ r.t = "acquire" /\ phase[r.o] = "trying" /\ now < r.s + Ttl
    /\ IsQuorum({x.n : x \in votes})
    /\ Cardinality(r.slots) >= want[r.o]
    /\ phase' = [phase EXCEPT ![r.o] = "held"]
    /\ mine' = [mine EXCEPT ![r.o] = r.slots]
    /\ vu' = [vu EXCEPT ![r.o] = r.s + Ttl]
    /\ top' = [i \in Slots |-> IF i \in r.slots THEN r.cand + want[r.o] - 1 ELSE top[i]]
    /\ ordered' = (ordered /\ \A i \in r.slots : Counting \/ r.cand > top[i])
    /\ reps' = {x \in reps : x.o # r.o}
    /\ UNCHANGED reqs

SendRenew(o) ==
    /\ Holding(o) /\ Count("renew", o) < MaxRenewals
    /\ Send("renew", o, 0)
    /\ UNCHANGED <<phase, mine, vu, reps>> /\ Ghosts

Renewed(r) ==
    /\ r.t = "renew" /\ Holding(r.o)
    /\ IsQuorum({x.n : x \in {y \in reps : y.o = r.o /\ y.t = "renew" /\ y.s = r.s /\ mine[r.o] \subseteq y.slots}})
    /\ vu' = [vu EXCEPT ![r.o] = Max(@, r.s + Ttl)]
    /\ reps' = {x \in reps : x.o # r.o}
    /\ UNCHANGED <<phase, mine, reqs>> /\ Ghosts

\* Release, undo, withdrawal, and the release of too few slots.  The next try has another owner token.
IsPart(o) == phase[o] = "trying" /\ \E n \in Nodes : Own(n, o) # {} /\ Cardinality(Own(n, o)) < want[o]
\* If permits are counted, no attempt gives up, so that the search is short.
MayEnd(o) == phase[o] \in {"trying", "held"} /\ ~Counting /\ ~(Broken = "held-while-waiting" /\ IsPart(o))
SendEnd(o) ==
    /\ MayEnd(o)
    /\ phase' = [phase EXCEPT ![o] = "ended"]
    /\ Send("end", o, 0)
    /\ mine' = [mine EXCEPT ![o] = {}] /\ vu' = [vu EXCEPT ![o] = 0]
    /\ reps' = {r \in reps : r.o # o}
    /\ Ghosts

Client ==
    /\ \/ \E o \in Attempts : SendAcquire(o) \/ SendRenew(o) \/ SendEnd(o)
       \/ \E r \in reps : Win(r) \/ Renewed(r)
    /\ UNCHANGED <<now, fixed, server>>

Next == Tick \/ Node \/ Client
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view, which distinguishes states: as in Ticket.                      *)

Overtaken(m) == m.t = "acquire" /\ \A n \in Nodes, i \in Slots : Chooses \/ i = aim[m.to] => m.cand <= fence[n][i]
IsClosed(o) ==
    /\ phase[o] = "ended"
    /\ \A n \in Nodes : o \in finished[n] /\ Own(n, o) = {}
    /\ \A m \in reqs : m.to = o /\ m.t = "acquire" => Overtaken(m)
View ==
    LET closed == IF Broken = "none" THEN {o \in Attempts : IsClosed(o)} ELSE {} IN
    <<now, slot, fence, [o \in Attempts |-> IF o \in closed THEN <<>> ELSE <<want[o], aim[o]>>], phase, mine, vu, reps, top, ordered, finished,
      IF Broken = "none" THEN {m \in reqs : ~Overtaken(m) /\ m.to \notin closed} ELSE reqs,
      [o \in Attempts |-> IF o \in closed THEN <<>> ELSE <<High(o), Count("acquire", o), Count("renew", o)>>]>>

-----------------------------------------------------------------------------
\* Each slot is exclusive, and at most k permits are valid.
S1 == \A o, p \in Attempts : Holding(o) /\ Holding(p) /\ o # p => Counting \/ mine[o] \cap mine[p] = {}
RECURSIVE Sum(_)
Sum(set) == IF set = {} THEN 0 ELSE LET o == CHOOSE o \in set : TRUE IN want[o] + Sum(set \ {o})
AtMostK == Sum({o \in Attempts : Holding(o)}) <= K
S2 == ordered
S4 == \A n \in Nodes, i \in Slots : slot[n][i].o \notin finished[n]
\* An owner token never has more slots than it wanted.
NoMore == \A n \in Nodes, o \in Attempts : Cardinality(Own(n, o)) <= want[o]
\* Never do attempts hold all slots, wait for more and release none.
NoDeadlock == \A n \in Nodes : ~(\A i \in Slots : slot[n][i].o # Nobody /\ IsPart(slot[n][i].o) /\ ~MayEnd(slot[n][i].o))

(* Witness.                                                                 *)
NeverFull == Sum({o \in Attempts : Holding(o)}) < K
=============================================================================

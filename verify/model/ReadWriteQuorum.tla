-------------------------- MODULE ReadWriteQuorum --------------------------
(***************************************************************************)
(* Readers and writers over several nodes. What a node stores and how it   *)
(* decides is as in ReadWrite, but no node serves a queue. A waiting       *)
(* client may leave an intent, with the place at which it began to wait    *)
(* and its own ttl. An intent of a writer excludes readers with a later    *)
(* place, one of a reader excludes writers with a later place. An intent   *)
(* never excludes an earlier place, nor a renewal, a repair or a downgrade *)
(* of a holder.                                                            *)
(*                                                                         *)
(* The network is that of Quorum. Nodes do not forget, and clocks do not   *)
(* drift. The model leaves open whether a request leaves an intent, and so *)
(* the patience.                                                           *)
(*                                                                         *)
(* Broken names the rule that is left out; "none" is the protocol.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Nodes,
    Attempts,       \* 1..k: one owner token each; they start in this order, which is their place
    Kinds,          \* the kinds of an attempt: "r" reads, "w" writes
    MaxTime, Ttl, Place, Reserve, Leads,
    MaxBallots, MaxRenewals, MaxRepairs, MaxDowngrades,
    Intents,        \* whether a request may carry an intent: {TRUE}, {FALSE} or both
    Broken

VARIABLES
    now,
    node,           \* per node: see Empty
    phase, kind, tok, last, vu,
    reqs, reps,
    topAny, topWriter, ordered,     \* ghost: the largest tokens shown, and whether each lease had one by the rule
    finished                        \* ghost, per node

vars == <<now, node, phase, kind, tok, last, vu, reqs, reps, topAny, topWriter, ordered, finished>>
server == <<node, finished>>
client == <<phase, kind, tok, last, vu, topAny, topWriter, ordered>>

Nobody == 0
Marker == 0 - 1
NoKey == [o |-> Nobody, exp |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
MaxOf(set) == CHOOSE h \in set \cup {0} : \A g \in set : g <= h
IsQuorum(set) == 2 * Cardinality(set) > Cardinality(Nodes)
Symmetric == Permutations(Nodes)

Empty == [key |-> NoKey, ends |-> [o \in Attempts |-> 0], any |-> 0, w |-> 0, a |-> 0, intents |-> {}]
IsBallot(m) == m.t \in {"acquire", "repair"}
High(o) == MaxOf({m.last : m \in {r \in reqs : r.to = o}})
Count(t, o) == Cardinality({m \in reqs : m.t = t /\ m.to = o})

Init ==
    /\ now = 1
    /\ node = [n \in Nodes |-> Empty]
    /\ phase = [o \in Attempts |-> "idle"]
    /\ kind \in [Attempts -> Kinds]
    /\ tok = [o \in Attempts |-> 0] /\ last = tok /\ vu = tok
    /\ reqs = {} /\ reps = {}
    /\ topAny = 0 /\ topWriter = 0 /\ ordered = TRUE
    /\ finished = [n \in Nodes |-> {}]

Useful(r, t, until) == (phase[r.o] = "trying" /\ r.s + Ttl > t) \/ (phase[r.o] = "held" /\ r.s + Ttl > Max(t, until[r.o]))

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ node' = [n \in Nodes |-> [node[n] EXCEPT !.key = IF now' >= @.exp THEN NoKey ELSE @]]
    /\ reps' = {r \in reps : Useful(r, now', vu)}
    /\ UNCHANGED <<client, reqs, finished>>

-----------------------------------------------------------------------------
(* The nodes: as in ReadWrite, without a queue.                             *)

Readers(N) == {o \in Attempts : N.ends[o] > now}
W(N) == IF N.any # N.a /\ Broken # "no-pair" THEN N.any ELSE N.w
Floor(N, k) == IF k = "r" THEN W(N) ELSE N.any
Holds(N, o, k) == IF k = "w" THEN N.key.o = o ELSE N.key.o = Marker /\ o \in Readers(N)

Swept(N) ==
    LET live == Readers(N) IN
    [N EXCEPT
        !.ends = [o \in Attempts |-> IF o \in live THEN N.ends[o] ELSE 0],
        !.key = CASE @.o # Marker -> @
                  [] live = {} -> NoKey
                  [] OTHER -> [o |-> Marker, exp |-> MaxOf({N.ends[o] : o \in live})],
        !.intents = {x \in @ : x.until > now}]

GrantWrite(N, o, l) ==
    [N EXCEPT !.key = [o |-> o, exp |-> now + Ttl], !.any = Max(@, l)]
GrantRead(N, o, c) ==
    [N EXCEPT !.key = [o |-> Marker, exp |-> now + Ttl],
              !.ends = [@ EXCEPT ![o] = now + Ttl],
              !.w = W(N), !.a = Max(N.any, c), !.any = Max(N.any, c)]

\* Whether an intent of another kind with an earlier place excludes this request.
KeepsOut(x, o, k) == x.o # o /\ x.k # k /\ (x.o < o \/ Broken = "intent-without-place")

Vote(n, m) == [n |-> n, o |-> m.to, cand |-> m.cand, s |-> m.s, k |-> m.k]
Tell(n, m) == reps' = reps \cup {r \in {Vote(n, m)} : Useful(r, now, vu)}

\* A ballot that does not beat the floor leaves no intent.
NodeAcquire(n, m) ==
    /\ IsBallot(m) /\ n \in m.at
    /\ m.cand > Floor(node[n], m.k)
    /\ LET S == Swept(node[n])
           fits == S.key.o = Nobody \/ Holds(S, m.to, m.k) \/ (m.k = "r" /\ S.key.o = Marker)
           mayPass == m.t = "repair" \/ Holds(S, m.to, m.k) \/ \A x \in S.intents : ~KeepsOut(x, m.to, m.k)
           mine == {x \in S.intents : x.o = m.to} IN
        IF fits /\ mayPass
        THEN /\ node' = [node EXCEPT ![n] =
                    LET T == [S EXCEPT !.intents = @ \ mine] IN
                    IF m.k = "w" THEN GrantWrite(T, m.to, m.last) ELSE GrantRead(T, m.to, m.cand)]
             /\ Tell(n, m)
        ELSE /\ m.intent
             /\ node' = [node EXCEPT ![n] =
                    [S EXCEPT !.intents = (@ \ mine) \cup {[o |-> m.to, k |-> m.k, until |-> now + Place]}]]
             /\ UNCHANGED reps
    /\ UNCHANGED finished

NodeRenew(n, m) ==
    /\ m.t = "renew" /\ n \in m.at
    /\ Holds(node[n], m.to, m.k)
    /\ node' = [node EXCEPT ![n].key.exp = now + Ttl,
                            ![n].ends = IF m.k = "w" THEN @ ELSE [@ EXCEPT ![m.to] = now + Ttl]]
    /\ Tell(n, m)
    /\ UNCHANGED finished

NodeEnd(n, m) ==
    /\ m.t = "end" /\ n \in m.at
    /\ LET S == Swept(node[n])
           any == Max(S.any, High(m.to))
           both == m.k = "r" IN
        node' = [node EXCEPT ![n] = Swept([S EXCEPT
            !.key = IF @.o = m.to THEN NoKey ELSE @,
            !.ends = [@ EXCEPT ![m.to] = 0],
            !.intents = IF Broken = "end-leaves-intent" THEN @ ELSE {x \in @ : x.o # m.to},
            !.any = any,
            !.w = IF both THEN IF Broken = "end-raises-any-only" THEN W(S) ELSE Max(W(S), High(m.to)) ELSE @,
            !.a = IF both THEN any ELSE @])]
    /\ finished' = [finished EXCEPT ![n] = @ \cup {m.to}]
    /\ UNCHANGED reps

\* At every node the end of the writer; at nodes where it held, the entry of the reader.
NodeDowngrade(n, m) ==
    /\ m.t = "downgrade" /\ n \in m.at
    /\ LET S == Swept(node[n])
           raised == [S EXCEPT !.any = Max(@, High(m.to)), !.intents = {x \in @ : x.o # m.to}] IN
        IF S.key.o = m.to \/ Holds(S, m.to, "r")
        THEN /\ node' = [node EXCEPT ![n] = GrantRead(raised, m.to, m.cand)]
             /\ Tell(n, m)
        ELSE /\ node' = [node EXCEPT ![n] = raised]
             /\ UNCHANGED reps
    /\ UNCHANGED finished

Node ==
    /\ \E n \in Nodes, m \in reqs : NodeAcquire(n, m) \/ NodeRenew(n, m) \/ NodeEnd(n, m) \/ NodeDowngrade(n, m)
    /\ UNCHANGED <<now, client, reqs>>

-----------------------------------------------------------------------------
(* The clients.                                                             *)

Holding(o) == phase[o] = "held" /\ now < vu[o]
IsNext(o) == phase[o] = "idle" /\ \A p \in Attempts : p < o => phase[p] # "idle"
Show(k, t) ==
    /\ ordered' = (ordered /\ t > IF k = "w" THEN topAny ELSE topWriter)
    /\ topAny' = Max(topAny, t) /\ topWriter' = IF k = "w" THEN Max(topWriter, t) ELSE topWriter
NoShow == UNCHANGED <<topAny, topWriter, ordered>>
Last(k, c) == IF k = "w" THEN c + Reserve - 1 ELSE c
Ballot(t, o, at, i) ==
    \E d \in Leads :
        /\ now + d > High(o)
        /\ reqs' = reqs \cup {[t |-> t, to |-> o, k |-> kind[o], at |-> at, cand |-> now + d, last |-> Last(kind[o], now + d),
                               s |-> now, intent |-> i]}
Other(t, o, k, c) == reqs' = reqs \cup {[t |-> t, to |-> o, k |-> k, at |-> Nodes, cand |-> c, last |-> c, s |-> now, intent |-> FALSE]}

SendAcquire(o) ==
    /\ phase[o] = "trying" \/ IsNext(o)
    /\ Count("acquire", o) < MaxBallots
    /\ \E i \in Intents : Ballot("acquire", o, Nodes, i)
    /\ phase' = [phase EXCEPT ![o] = "trying"]
    /\ UNCHANGED <<kind, tok, last, vu, reps>> /\ NoShow

Win(r) ==
    /\ phase[r.o] = "trying" /\ now < r.s + Ttl
    /\ IsQuorum({x.n : x \in {y \in reps : y.o = r.o /\ y.cand = r.cand /\ y.s = r.s}})
    /\ phase' = [phase EXCEPT ![r.o] = "held"]
    /\ tok' = [tok EXCEPT ![r.o] = r.cand]
    /\ last' = [last EXCEPT ![r.o] = Last(r.k, r.cand)]
    /\ vu' = [vu EXCEPT ![r.o] = r.s + Ttl]
    /\ reps' = {x \in reps : x.o # r.o \/ x.s > r.s}
    /\ Show(r.k, r.cand)
    /\ UNCHANGED <<kind, reqs>>

SendRenew(o) ==
    /\ Holding(o) /\ Count("renew", o) < MaxRenewals
    /\ Other("renew", o, kind[o], 0)
    /\ UNCHANGED <<phase, kind, tok, last, vu, reps>> /\ NoShow

SendRepair(o, n) ==
    /\ Holding(o) /\ ~Holds(node[n], o, kind[o]) /\ Count("repair", o) < MaxRepairs
    /\ Ballot("repair", o, {n}, FALSE)
    /\ UNCHANGED <<phase, kind, tok, last, vu, reps>> /\ NoShow

\* Renewals, repairs, late votes and answers to a downgrade: a writer's key and a reader's entry both exclude writers.
Waits == Broken = "write-valid-until-answer"
Extend(r) ==
    /\ Holding(r.o)
    /\ IsQuorum({x.n : x \in {y \in reps : y.o = r.o /\ y.s >= r.s}})
    /\ vu' = [vu EXCEPT ![r.o] = Max(@, r.s + Ttl)]
    /\ reps' = {x \in reps : Useful(x, now, vu')}
    /\ UNCHANGED <<phase, kind, tok, last, reqs>> /\ NoShow

\* The last token of the range, which a quorum already has as fence.
SendDowngrade(o) ==
    /\ Holding(o) /\ kind[o] = "w" /\ tok[o] < last[o] /\ Count("downgrade", o) < MaxDowngrades
    /\ Other("downgrade", o, "r", last[o])
    /\ IF Waits THEN UNCHANGED <<kind, tok>> /\ NoShow
       ELSE /\ kind' = [kind EXCEPT ![o] = "r"] /\ tok' = [tok EXCEPT ![o] = last[o]] /\ Show("r", last[o])
    /\ UNCHANGED <<phase, last, vu, reps>>

SendEnd(o) ==
    /\ phase[o] \in {"trying", "held"}
    /\ phase' = [phase EXCEPT ![o] = "ended"]
    /\ Other("end", o, kind[o], 0)
    /\ tok' = [tok EXCEPT ![o] = 0] /\ last' = [last EXCEPT ![o] = 0] /\ vu' = [vu EXCEPT ![o] = 0]
    /\ reps' = {r \in reps : r.o # o}
    /\ UNCHANGED kind /\ NoShow

Client ==
    /\ \/ \E o \in Attempts :
            SendAcquire(o) \/ SendRenew(o) \/ SendDowngrade(o) \/ SendEnd(o) \/ \E n \in Nodes : SendRepair(o, n)
       \/ \E r \in reps : Win(r) \/ Extend(r)
    /\ UNCHANGED <<now, server>>

Next == Tick \/ Node \/ Client
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view, which distinguishes states: as in ReadWrite and Quorum.        *)

Overtaken(m) == IsBallot(m) /\ \A n \in m.at : m.cand <= Floor(node[n], m.k)
IsClosed(o) ==
    /\ phase[o] = "ended"
    /\ \A n \in Nodes :
        /\ o \in finished[n] /\ node[n].key.o # o /\ o \notin Readers(node[n])
        /\ \A x \in node[n].intents : x.o # o
    /\ \A m \in reqs : m.to = o /\ IsBallot(m) => Overtaken(m)
View ==
    LET reduced == Broken = "none"
        closed == IF reduced THEN {o \in Attempts : IsClosed(o)} ELSE {} IN
    <<now, IF reduced THEN [n \in Nodes |-> Swept(node[n])] ELSE node, phase,
      [o \in Attempts |-> IF o \in closed THEN "" ELSE kind[o]], tok, last, vu, reps,
      topAny, topWriter, ordered, finished,
      IF reduced THEN {m \in reqs : ~Overtaken(m) /\ m.to \notin closed} ELSE reqs,
      [o \in Attempts |-> IF o \in closed THEN <<>>
                          ELSE <<High(o), Count("acquire", o), Count("renew", o), Count("repair", o), Count("downgrade", o)>>]>>

-----------------------------------------------------------------------------
S1 == \A o, p \in Attempts : Holding(o) /\ Holding(p) /\ kind[o] = "w" => o = p
S2 == ordered
S4 == \A n \in Nodes : \A o \in finished[n] :
        /\ ~Holds(node[n], o, "w") /\ ~Holds(node[n], o, "r")
        /\ \A x \in node[n].intents : x.o # o
Tight == \A n \in Nodes : LET N == node[n] IN N.key.o = Marker => N.key.exp = MaxOf({N.ends[o] : o \in Readers(N)})
\* No two waiting attempts exclude each other.
NoCycle == \A n \in Nodes : \A x, y \in node[n].intents : ~(KeepsOut(x, y.o, y.k) /\ KeepsOut(y, x.o, x.k))

(* Witnesses.                                                               *)
NeverShared == \A o, p \in Attempts : Holding(o) /\ Holding(p) => o = p
NeverDowngraded == \A m \in reqs : m.t = "downgrade" => ~(Holding(m.to) /\ vu[m.to] = m.s + Ttl /\ \E n \in Nodes : Holds(node[n], m.to, "r"))
=============================================================================

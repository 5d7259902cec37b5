------------------------------ MODULE ReadWrite ------------------------------
(***************************************************************************)
(* Readers and writers of one lock on one node. A writer is the exclusive  *)
(* lock: its owner token is the value of the lock's own key, and its path  *)
(* reads no reader. While readers hold, that key has the Marker, which is  *)
(* the owner token of no attempt. Each reader has an entry next to it,     *)
(* with its own end, and the key ends with the last of them.               *)
(*                                                                         *)
(* Network and time are those of SingleNode, but with one clock: drift,    *)
(* the bound on ballots and yields are argued and checked there. A push is *)
(* only a wake-up: a waiter that was served asks once more.                *)
(*                                                                         *)
(* Broken names the rule that is left out; "none" is the protocol.         *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
    Attempts,       \* 1..k: one owner token each, numbered in the order of their start
    MaxTime,        \* the last moment of the clock
    Ttl,            \* the ttl of a lease
    Claim,          \* the time for which a served waiter has the lock without a further request
    Place,          \* the time for which a place in the queue is kept without a further request
    Retention,      \* the time for which the floors are kept
    Reserve,        \* the tokens of one grant of a writer
    Leads,          \* a candidate is now + one of these
    MaxBallots,     \* maximum acquire requests of one attempt
    MaxRenewals,    \* maximum renewals of one attempt
    MaxDowngrades,  \* maximum downgrades in total
    MaxUses,        \* maximum requests to the resource in total
    Broken

VARIABLES
    now,
    node,           \* the stored state of the node: see Empty
    phase, kind,    \* each attempt's state in the view of its client: "r" reads, "w" writes
    tok, last, vu,  \* current token, last token of the range, valid until
    reqs, reps,
    res,            \* the resource: the tokens that it keeps, and the leases that it has seen
    leases,         \* ghost: the leases that were shown, in their order
    ordered,        \* ghost: every lease had a token by the rule
    right,          \* ghost: the resource refused and admitted the right requests
    served,         \* ghost: after the last script the head of the queue could not be served
    fair,           \* ghost: no attempt was granted before one ahead of it
    touched,        \* ghost: the latest end of a reader's entry by its own requests
    finished        \* ghost: owner tokens whose end was executed

vars == <<now, node, phase, kind, tok, last, vu, reqs, reps, res, leases, ordered, right, served, fair, touched, finished>>
server == <<node, served, fair, touched, finished>>
resource == <<res, right>>
client == <<phase, kind, tok, last, vu, leases, ordered>>

Nobody == 0
Marker == 0 - 1
NoKey == [o |-> Nobody, exp |-> 0]
Max(a, b) == IF a > b THEN a ELSE b
MaxOf(set) == CHOOSE h \in set \cup {0} : \A g \in set : g <= h

Empty == [
    key   |-> NoKey,                        \* owner token or Marker, and its expiry
    ends  |-> [o \in Attempts |-> 0],       \* the end of the entry of a reader; 0: no entry
    any   |-> 0,                            \* :fence.  Every grant and every end raises it
    w     |-> 0,                            \* the readers' pair: a reader must beat w ...
    a     |-> 0,                            \* ... if the last grant or end that raised any to a was a reader's
    queue |-> <<>>,                         \* places: owner token, kind, and the end of the place
    excl  |-> 0]                            \* ghost: the floor that a reader must beat, and no more

Ballots(o) == {m \in reqs : m.t \in {"acquire", "downgrade"} /\ m.to = o}
High(o) == MaxOf({m.last : m \in Ballots(o)})

Init ==
    /\ now = 1 /\ node = Empty
    /\ phase = [o \in Attempts |-> "idle"]
    /\ kind \in [Attempts -> {"r", "w"}]
    /\ tok = [o \in Attempts |-> 0] /\ last = tok /\ vu = tok
    /\ reqs = {} /\ reps = {}
    /\ res = [any |-> 0, writer |-> 0, seen |-> {}, uses |-> 0]
    /\ leases = <<>> /\ ordered = TRUE /\ right = TRUE
    /\ served = TRUE /\ fair = TRUE /\ touched = tok /\ finished = {}

-----------------------------------------------------------------------------
(* Time. An expired key is deleted, and so are floors that TIME - Retention *)
(* has overtaken. Entries and places remain: a script must check their      *)
(* ends.                                                                    *)

Usable(r, t) == r.s + Ttl > t

Tick ==
    /\ now < MaxTime
    /\ now' = now + 1
    /\ node' = [node EXCEPT !.key = IF now' >= @.exp THEN NoKey ELSE @,
                            !.any = IF @ <= now' - Retention THEN 0 ELSE @]
    /\ reps' = {r \in reps : Usable(r, now')}
    /\ UNCHANGED <<client, reqs, resource, served, fair, touched, finished>>

-----------------------------------------------------------------------------
(* The parts of scripts: functions from node to node.                       *)

Readers(N) == {o \in Attempts : N.ends[o] > now}

\* The floor of readers.  If any is not a, an exclusive grant or end came in between, which does not touch the pair.
W(N) == IF N.any # N.a /\ Broken # "no-pair" THEN N.any ELSE N.w
Floor(N, k) == Max(IF k = "r" /\ Broken # "reader-against-any" THEN W(N) ELSE N.any, now - Retention)

\* Drops ended entries and places.  Moves the marker to the last end that remains, or deletes it.
\* Its ttl may shrink: no client owns it.
Swept(N) ==
    LET live == Readers(N) IN
    [N EXCEPT
        !.ends = [o \in Attempts |-> IF o \in live THEN N.ends[o] ELSE 0],
        !.key = CASE @.o # Marker -> @
                  [] live = {} -> NoKey
                  [] Broken = "end-leaves-marker" -> @
                  [] OTHER -> [o |-> Marker, exp |-> MaxOf({N.ends[o] : o \in live})],
        !.queue = SelectSeq(@, LAMBDA x : x.until > now)]

\* Whether one more attempt of this kind may hold next to those that remain.
Fits(N, k) == N.key.o = Nobody \/ (k = "r" /\ N.key.o = Marker)

GrantWrite(N, o, c, until) ==
    [N EXCEPT !.key = [o |-> o, exp |-> Max(IF N.key.o = o THEN N.key.exp ELSE 0, until)],
              !.any = Max(@, c + Reserve - 1), !.excl = Max(@, c + Reserve - 1)]
GrantRead(N, o, c, until) ==
    LET end == Max(N.ends[o], until) IN
    [N EXCEPT !.key = [o |-> Marker, exp |-> Max(IF N.key.o = Marker THEN N.key.exp ELSE 0, end)],
              !.ends = [@ EXCEPT ![o] = end],
              !.w = W(N), !.a = Max(N.any, c), !.any = Max(N.any, c)]
Grant(N, o, k, c, until) == IF k = "w" THEN GrantWrite(N, o, c, until) ELSE GrantRead(N, o, c, until)

\* Serves the head of the queue as long as it fits.  The caller (its owner token and ballot) gets the requested ttl; others get
\* the claim, and tokens that the node chooses.
RECURSIVE Served(_, _)
Served(N, me) ==
    IF N.queue = <<>> THEN N
    ELSE LET x == Head(N.queue)
             rest == [N EXCEPT !.queue = Tail(@)] IN
         IF ~Fits(N, x.k) THEN N
         ELSE IF x.o = me.o THEN Served(Grant(rest, x.o, x.k, me.c, now + Ttl), me)
         ELSE Served(Grant(rest, x.o, x.k, Max(N.any + 1, now), now + Claim), me)
NotAsking == [o |-> Nobody, c |-> 0]

Without(N, o) == [N EXCEPT !.queue = SelectSeq(@, LAMBDA x : x.o # o)]
\* A further request keeps the place.
Joined(N, o, k) ==
    LET place == [o |-> o, k |-> k, until |-> now + Place] IN
    IF \E i \in DOMAIN N.queue : N.queue[i].o = o
    THEN [N EXCEPT !.queue = [i \in DOMAIN @ |-> IF @[i].o = o THEN place ELSE @[i]]]
    ELSE [N EXCEPT !.queue = Append(@, place)]

Holds(N, o, k) == IF k = "w" THEN N.key.o = o ELSE N.key.o = Marker /\ o \in Readers(N)
Holders(N) == {o \in Attempts : Holds(N, o, "w") \/ Holds(N, o, "r")}

\* The order of arrival: every new holder had a place, and was not behind one that still waits.
Place1(N, o) == MaxOf({i \in DOMAIN N.queue : N.queue[i].o = o})
KeepsOrder(N, M) ==
    \A g \in Holders(M) \ Holders(N), i \in DOMAIN M.queue :
        LET x == Place1(N, M.queue[i].o) IN
        x > 0 => Place1(N, g) \in 1..x

Run(N, o) ==
    /\ node' = N
    /\ served' = (Swept(N).queue = <<>> \/ ~Fits(Swept(N), Head(Swept(N).queue).k))
    /\ fair' = (fair /\ KeepsOrder(Swept(node), N))
    \* The reader that asked or was served just now has its entry for this time; renewals of others do not extend it.
    /\ touched' = [p \in Attempts |-> IF p = o \/ p \notin Holders(node) THEN now + Max(Ttl, Claim) ELSE touched[p]]

Tell(r) == reps' = IF phase[r.o] \in {"trying", "held"} THEN reps \cup {r} ELSE reps

-----------------------------------------------------------------------------
(* The node. One action is one run of a script.                             *)

\* Acquire.  That of a writer finds its key free or taken.  It reads the readers only to serve the queue.
NodeAcquire(m) ==
    /\ m.t = "acquire"
    /\ m.cand > Floor(node, m.k)
    /\ LET S == Swept(node)
           overtakes == Broken = "reader-overtakes" /\ m.k = "r" /\ S.key.o = Marker
           N == IF Holds(S, m.to, m.k) \/ overtakes
                THEN Grant(Without(S, m.to), m.to, m.k, m.cand, now + Ttl)
                ELSE Served(Joined(S, m.to, m.k), [o |-> m.to, c |-> m.cand]) IN
        /\ Run(N, m.to)
        /\ IF Holds(N, m.to, m.k)
           THEN Tell([t |-> "yes", o |-> m.to, k |-> m.k, cand |-> m.cand, s |-> m.s])
           ELSE UNCHANGED reps
    /\ UNCHANGED finished

\* Renewal.  That of a reader needs the marker and its own entry, which has not ended; it moves both.
NodeRenew(m) ==
    /\ m.t = "renew"
    /\ Holds(node, m.to, m.k)
    /\ LET end == Max(node.ends[m.to], now + Ttl)
           moved == [node EXCEPT !.key.exp = Max(@, now + Ttl)]
           all == Broken = "one-end" IN
        node' = IF m.k = "w" THEN moved
                ELSE [IF Broken = "renewal-leaves-marker" THEN node ELSE moved EXCEPT
                        !.ends = [o \in Attempts |-> IF o = m.to \/ (all /\ o \in Readers(node)) THEN end ELSE @[o]]]
    /\ touched' = [touched EXCEPT ![m.to] = Max(@, now + Ttl)]
    /\ Tell([t |-> "renewed", o |-> m.to, k |-> m.k, cand |-> 0, s |-> m.s])
    /\ UNCHANGED <<served, fair, finished>>

\* Release, undo and withdrawal.  A reader's end raises both floors.
NodeEnd(m) ==
    /\ m.t = "end"
    /\ LET S == Swept(node)
           high == High(m.to)
           any == Max(S.any, high)
           both == m.k = "r"
           gone == [Without(S, m.to) EXCEPT
                !.key = IF @.o = m.to THEN NoKey ELSE @,
                !.ends = [@ EXCEPT ![m.to] = 0],
                !.any = any, !.excl = Max(@, high),
                !.w = IF both /\ Broken # "end-raises-any-only" THEN Max(W(S), high) ELSE IF both THEN W(S) ELSE @,
                !.a = IF both THEN any ELSE @]
           held == m.to \in Holders(S) IN
        Run(IF Broken = "withdrawal-serves-nobody" /\ ~held THEN Swept(gone) ELSE Served(Swept(gone), NotAsking), m.to)
    /\ finished' = finished \cup {m.to}
    /\ UNCHANGED reps

\* In one step, the writer's key becomes the marker and the writer a reader; waiters that fit are served.  It is also the end
\* of the writer: the floors rise to its highest ballot, so that no late copy of its acquires takes a place.
NodeDowngrade(m) ==
    /\ m.t = "downgrade"
    /\ LET S == Swept(node)
           any == IF Broken = "downgrade-does-not-raise" THEN S.any ELSE Max(S.any, High(m.to))
           turned == [S EXCEPT !.key = NoKey, !.any = any, !.excl = Max(@, any)] IN
        /\ \/ /\ S.key.o = m.to
              /\ Run(Served(GrantRead(turned, m.to, m.cand, Max(S.key.exp, now + Ttl)), NotAsking), m.to)
           \/ /\ Holds(S, m.to, "r")                      \* repeated: as a renewal
              /\ Run(Served(GrantRead(S, m.to, m.cand, now + Ttl), NotAsking), m.to)
    /\ Tell([t |-> "renewed", o |-> m.to, k |-> "r", cand |-> m.cand, s |-> m.s])
    /\ UNCHANGED finished

Node ==
    /\ \E m \in reqs : NodeAcquire(m) \/ NodeRenew(m) \/ NodeEnd(m) \/ NodeDowngrade(m)
    /\ UNCHANGED <<now, client, reqs, resource>>

-----------------------------------------------------------------------------
(* The clients.                                                             *)

IsNext(o) == phase[o] = "idle" /\ \A p \in Attempts : p < o => phase[p] # "idle"
Count(t, o) == Cardinality({m \in reqs : m.t = t /\ m.to = o})
Holding(o) == phase[o] = "held" /\ now < vu[o]

\* The lease is shown.  A writer's token is larger than every one before it.  A reader's is larger than every writer's before it.
Show(o, k, t) ==
    /\ leases' = Append(leases, [o |-> o, k |-> k, t |-> t])
    /\ ordered' = (ordered /\ \A i \in DOMAIN leases : k = "w" \/ leases[i].k = "w" => t > leases[i].t)
NoShow == UNCHANGED <<leases, ordered>>

Last(k, c) == IF k = "w" THEN c + Reserve - 1 ELSE c
Acquire(o, k) ==
    \E d \in Leads :
        /\ now + d > High(o)
        /\ reqs' = reqs \cup {[t |-> "acquire", to |-> o, k |-> k, cand |-> now + d, last |-> Last(k, now + d), s |-> now]}

\* One action for a first request, a recheck of a waiter, another ballot after a stale one, and a retry after a lost reply.
SendAcquire(o) ==
    /\ phase[o] = "trying" \/ IsNext(o)
    /\ Count("acquire", o) < MaxBallots
    /\ Acquire(o, kind[o])
    /\ phase' = [phase EXCEPT ![o] = "trying"]
    /\ UNCHANGED <<kind, tok, last, vu, reps>> /\ NoShow

\* Not in the protocol: a reader that also requests to write.
SendUpgrade(o) ==
    /\ Broken = "upgrade" /\ Holding(o) /\ kind[o] = "r"
    /\ Count("acquire", o) < MaxBallots
    /\ Acquire(o, "w")
    /\ UNCHANGED <<phase, kind, tok, last, vu, reps>> /\ NoShow

Granted(r) ==
    /\ r.t = "yes" /\ phase[r.o] = "trying" /\ now < r.s + Ttl
    /\ phase' = [phase EXCEPT ![r.o] = "held"]
    /\ tok' = [tok EXCEPT ![r.o] = r.cand]
    /\ last' = [last EXCEPT ![r.o] = Last(r.k, r.cand)]
    /\ vu' = [vu EXCEPT ![r.o] = r.s + Ttl]
    /\ reps' = {x \in reps : x.o # r.o \/ x.t = "renewed"}
    /\ Show(r.o, r.k, r.cand)
    /\ UNCHANGED <<kind, reqs>>

\* Local hand-over: the next lease from a writer's grant.  The last token of the range is kept for a downgrade.
NextLease(o) ==
    /\ Holding(o) /\ kind[o] = "w" /\ tok[o] + 1 < last[o]
    /\ tok' = [tok EXCEPT ![o] = @ + 1]
    /\ Show(o, "w", tok[o] + 1)
    /\ UNCHANGED <<phase, kind, last, vu, reqs, reps>>

SendRenew(o) ==
    /\ Holding(o)
    /\ Count("renew", o) < MaxRenewals
    /\ reqs' = reqs \cup {[t |-> "renew", to |-> o, k |-> kind[o], cand |-> 0, last |-> 0, s |-> now]}
    /\ UNCHANGED <<phase, kind, tok, last, vu, reps>> /\ NoShow

Waits == Broken = "write-valid-until-answer"

\* An answer to a renewal, or to a downgrade.
Renewed(r) ==
    /\ r.t = "renewed" /\ Holding(r.o)
    /\ vu' = [vu EXCEPT ![r.o] = Max(@, r.s + Ttl)]
    /\ reps' = reps \ {r}
    /\ IF Waits /\ r.k # kind[r.o]
       THEN /\ kind' = [kind EXCEPT ![r.o] = "r"]
            /\ tok' = [tok EXCEPT ![r.o] = r.cand] /\ last' = [last EXCEPT ![r.o] = r.cand]
            /\ Show(r.o, "r", r.cand)
       ELSE UNCHANGED <<kind, tok, last>> /\ NoShow
    /\ UNCHANGED <<phase, reqs>>

\* The write lease ends before the request leaves.  The read lease has its validity at once, since both stored forms exclude
\* writers.  Its token is the last of the writer's range.  No write lease is shown with it, and the fence has it already.
SendDowngrade(o) ==
    /\ Holding(o) /\ kind[o] = "w" /\ tok[o] < last[o]
    /\ Cardinality({m \in reqs : m.t = "downgrade"}) < MaxDowngrades
    /\ LET c == CASE Broken = "old-token" -> tok[o]
                  [] Broken = "fresh-token" -> Max(High(o) + 1, now)
                  [] OTHER -> last[o] IN
        /\ reqs' = reqs \cup {[t |-> "downgrade", to |-> o, k |-> "r", cand |-> c, last |-> c, s |-> now]}
        /\ IF Waits THEN UNCHANGED <<kind, tok, last>> /\ NoShow
           ELSE /\ kind' = [kind EXCEPT ![o] = "r"]
                /\ tok' = [tok EXCEPT ![o] = c] /\ last' = [last EXCEPT ![o] = c]
                /\ Show(o, "r", c)
    /\ UNCHANGED <<phase, vu, reps>>

\* Release by the holder, undo of an unknown outcome, withdrawal of a waiter.  After a downgrade, the end is a reader's.
SendEnd(o) ==
    /\ phase[o] \in {"trying", "held"}
    /\ phase' = [phase EXCEPT ![o] = "ended"]
    /\ reqs' = reqs \cup {[t |-> "end", to |-> o, k |-> kind[o], cand |-> 0, last |-> 0, s |-> 0]}
    /\ tok' = [tok EXCEPT ![o] = 0]
    /\ last' = [last EXCEPT ![o] = 0]
    /\ vu' = [vu EXCEPT ![o] = 0]
    /\ reps' = {r \in reps : r.o # o}
    /\ UNCHANGED kind /\ NoShow

Client ==
    /\ \/ \E o \in Attempts :
            SendAcquire(o) \/ SendUpgrade(o) \/ NextLease(o) \/ SendRenew(o) \/ SendDowngrade(o) \/ SendEnd(o)
       \/ \E r \in reps : Granted(r) \/ Renewed(r)
    /\ UNCHANGED <<now, server, resource>>

-----------------------------------------------------------------------------
(* The resource keeps the largest token, and the largest of a writer. Every *)
(* lease that was ever shown may come at any time, long after its end.      *)

Use(i) ==
    LET l == leases[i]
        passes == IF l.k = "w" THEN l.t >= res.any ELSE l.t >= res.writer
        conflicts(j) == l.k = "w" \/ leases[j].k = "w"
        valid == Holding(l.o) /\ tok[l.o] = l.t /\ kind[l.o] = l.k IN
    /\ res.uses < MaxUses
    /\ res' = [any    |-> IF passes THEN Max(res.any, l.t) ELSE res.any,
               writer |-> IF passes /\ l.k = "w" THEN l.t ELSE res.writer,
               seen   |-> IF passes THEN res.seen \cup {i} ELSE res.seen,
               uses   |-> res.uses + 1]
    /\ right' = (right /\ IF passes THEN \A j \in res.seen : j > i => ~conflicts(j) ELSE ~valid)
    /\ UNCHANGED <<now, client, server, reqs, reps>>

Next == Tick \/ Node \/ Client \/ \E i \in DOMAIN leases : Use(i)
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The view, which distinguishes states. As in SingleNode, it keeps only    *)
(* the number of requests without any further effect. It leaves out entries *)
(* and places that have ended.                                              *)

Overtaken(m) == m.cand <= Floor(node, m.k)
IsClosed(o) ==
    /\ o \in finished /\ node.key.o # o /\ o \notin Readers(node)
    /\ \A i \in DOMAIN node.queue : node.queue[i].o # o
    /\ \A m \in reqs : m.t = "acquire" /\ m.to = o => Overtaken(m)
IsDead(m) == IF m.t = "acquire" THEN Overtaken(m) ELSE IsClosed(m.to)
Tops == <<MaxOf({leases[i].t : i \in DOMAIN leases}),
          MaxOf({leases[i].t : i \in {j \in DOMAIN leases : leases[j].k = "w"}})>>
View ==
    LET reduced == Broken = "none" IN
    <<now, IF reduced THEN Swept(node) ELSE node, phase,
      [o \in Attempts |-> IF phase[o] = "ended" /\ reduced THEN "" ELSE kind[o]], tok, last, vu, reps,
      res, IF MaxUses > 0 THEN leases ELSE Tops, ordered, right, served, fair, finished,
      [o \in Attempts |-> IF o \in Readers(node) THEN touched[o] ELSE 0],
      IF reduced THEN {m \in reqs : ~IsDead(m)} ELSE reqs,
      [o \in Attempts |-> IF IsClosed(o) THEN <<>> ELSE <<High(o), Count("acquire", o), Count("renew", o)>>],
      Cardinality({m \in reqs : m.t = "downgrade"})>>

-----------------------------------------------------------------------------
\* No writer is valid at the same time as another attempt.
S1 == \A o, p \in Attempts : Holding(o) /\ Holding(p) /\ kind[o] = "w" => o = p
\* The reason: the node has every valid lease, in the form that its client believes, or still as the former writer.
Covered == \A o \in Attempts : Holding(o) => IF kind[o] = "w" THEN node.key.o = o ELSE Holds(node, o, "r") \/ node.key.o = o
S2 == ordered
S3 == right
S4 == \A o \in finished : o \notin Holders(node) /\ \A i \in DOMAIN node.queue : node.queue[i].o # o
\* A reader's entry ends by its own requests, and the marker with the last entry.
OwnEnd == \A o \in Readers(node) : node.ends[o] <= touched[o]
Tight == node.key.o = Marker => node.key.exp = MaxOf({node.ends[o] : o \in Readers(node)})
HeadServed == served
Fifo == fair
\* A reader is refused only because of a writer or of an end: readers do not make each other stale.
Shares == Floor(node, "r") <= Max(node.excl, now - Retention)
\* No two attempts wait for each other.
Queued(o) == {node.queue[i].k : i \in {j \in DOMAIN node.queue : node.queue[j].o = o}}
WaitsFor(o, p) == o # p /\ \E k \in Queued(o) : p \in Holders(node) /\ (k = "w" \/ node.key.o = p)
NoCycle == \A o, p \in Attempts : ~(WaitsFor(o, p) /\ WaitsFor(p, o))
\* No attempt waits for itself.
OnePlace == \A o \in Holders(node) : Queued(o) = {}

(* Witnesses: that these fail shows that the checks above are not empty.    *)

NeverShared == \A o, p \in Attempts : Holding(o) /\ Holding(p) => o = p
NeverDowngraded == \A m \in reqs : m.t = "downgrade" => ~(Holding(m.to) /\ vu[m.to] = m.s + Ttl /\ Holds(node, m.to, "r"))
=============================================================================

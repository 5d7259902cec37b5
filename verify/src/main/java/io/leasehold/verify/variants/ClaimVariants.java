package io.leasehold.verify.variants;

import java.util.List;

/** Those of leases that begin from a message: from when they count, for how long, and which message is believed. */
final class ClaimVariants {

    private static final String ANSWER = "node/QueuedAnswer.java";
    private static final String STORE = "node/SingleNodeStore.java";
    private static final String GRANT = "engine/GrantMachine.java";
    private static final String TIMINGS = "engine/Timings.java";
    private static final String ATTEMPT = "engine/AcquireMachine.java";
    private static final String SHELL = "engine/AcquireAttempt.java";
    private static final String NODE = "redis/node/RedisNode.java";
    private static final String CALLS = "redis/node/GrantCalls.java";
    private static final String CHANNEL = "redis/topology/Subscriptions.java";

    private ClaimVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "claim-of-another-life",
                        "the time of one life of a server is compared with that of another",
                        ANSWER,
                        "!channel.server().equals(server) || ",
                        ""),
                new Variant(
                        "claim-over-a-younger-channel",
                        "a channel counts that was made after the request was sent",
                        ANSWER,
                        " || channel.sinceAtNanos() - sentAtNanos > 0",
                        ""),
                new Variant(
                        "claim-at-the-servers-rate",
                        "the time that the server has measured is taken for that of the client",
                        ANSWER,
                        "passedMicros * 1_000 / 100 * SLOWEST_PERCENT;",
                        "passedMicros * 1_000;"),
                new Variant(
                        "claim-from-the-receipt",
                        "a hand-over counts from its receipt",
                        ANSWER,
                        "long fromNanos = countedFromNanos + passedMicros * 1_000 / 100 * SLOWEST_PERCENT;",
                        "long fromNanos = nowNanos;"),
                new Variant(
                        "claim-before-the-answer",
                        "a hand-over counts that is older than the answer",
                        ANSWER,
                        "passedMicros < 0 || ",
                        ""),
                new Variant(
                        "claim-without-a-limit",
                        "a hand-over counts although the waiter must have asked again before",
                        ANSWER,
                        " || passedMicros > recheckNanos / 1_000",
                        ""),
                new Variant(
                        "claim-in-the-future",
                        "a hand-over counts that is still to come by the client's clock",
                        ANSWER,
                        "fromNanos - nowNanos > 0 ? OptionalLong.empty() : OptionalLong.of(fromNanos)",
                        "OptionalLong.of(fromNanos)"),
                new Variant(
                        "claim-of-any-token",
                        "a holder shows whatever token a message names",
                        ANSWER,
                        "if (handOver.tokens().last() - handOver.serverMicros() > MAX_LEAD_MICROS) {",
                        "if (handOver.tokens().last() < 0) {"),
                new Variant(
                        "claim-without-the-sleep",
                        "the time for which a machine has slept is not a part of a claim",
                        STORE,
                        "waiter.sending().countedFromNanos(runtime)",
                        "waiter.sending().nanos()"),
                new Variant(
                        "claim-twice",
                        "each message for one answer is a claim",
                        STORE,
                        "waiters.remove(handOver.attemptId())",
                        "waiters.get(handOver.attemptId())"),
                new Variant(
                        "claim-during-a-request",
                        "a claim counts from the answer before the one that is awaited",
                        STORE,
                        "        forgetWaiter(request.owner());\n        return ask(request, null);",
                        "        return ask(request, null);"),
                new Variant(
                        "claim-after-the-end",
                        "an owner token that has ended can have a claim",
                        STORE,
                        "        forgetWaiter(request.owner());\n        return super.release(request);",
                        "        return super.release(request);"),
                new Variant(
                        "claim-of-another-lock",
                        "a message about one lock is a claim of another",
                        STORE,
                        "if (!name.equals(given.name())) {",
                        "if (given == null) {"),
                new Variant(
                        "claim-for-the-ttl",
                        "a lease that begins from a message is valid for the ttl",
                        GRANT,
                        "(claimed ? timings.claimValidityNanos(claimNanos) : timings.validityNanos())",
                        "timings.validityNanos()"),
                new Variant(
                        "claim-without-drift",
                        "the drift is not subtracted from a claim",
                        TIMINGS,
                        "? claimNanos - LockOptions.driftOf(Duration.ofNanos(claimNanos)).toNanos()",
                        "? claimNanos"),
                new Variant(
                        "claim-of-a-fixed-ttl",
                        "a lease with a fixed ttl begins from a message",
                        TIMINGS,
                        "return renewed() && !delayed() && !kept",
                        "return !delayed() && !kept"),
                new Variant(
                        "claim-of-a-delayed-lock",
                        "a lease with a lock delay begins from a message",
                        TIMINGS,
                        "return renewed() && !delayed() && !kept",
                        "return renewed() && !kept"),
                new Variant(
                        "claim-of-one-answer",
                        "a claim is taken that one lost answer would use up",
                        TIMINGS,
                        "return minimumValidityNanos > bothNanos ? minimumValidityNanos + bothNanos : bothNanos;",
                        "return Math.max(1, Math.min(minimumValidityNanos, bothNanos));"),
                new Variant(
                        "claim-that-a-least-validity-uses-up",
                        "a claim is taken whose holder may end its work before a renewal was repeated",
                        TIMINGS,
                        "return minimumValidityNanos > bothNanos ? minimumValidityNanos + bothNanos : bothNanos;",
                        "return Math.max(minimumValidityNanos, bothNanos);"),
                new Variant(
                        "claim-after-a-sleep",
                        "a lease begins from a message after a sleep, and is unconfirmed",
                        SHELL,
                        "            if (context.suspensions().wasSuspendedSince(mark)) {",
                        "            if (false) {"),
                new Variant(
                        "claim-over-nodes",
                        "a node of a set begins a lease by a message",
                        ATTEMPT,
                        "&& !unknown && !ofNodes;",
                        "&& !unknown;"),
                new Variant(
                        "claim-of-a-finished-attempt",
                        "a late message begins the lease of an attempt that is over",
                        ATTEMPT,
                        "phase == Phase.PAUSED && remembered",
                        "phase != Phase.IN_FLIGHT && remembered"),
                new Variant(
                        "claim-beside-a-request",
                        "a message begins a lease while a ballot may be repeated",
                        ATTEMPT,
                        "phase == Phase.PAUSED && remembered",
                        "phase != Phase.DONE && remembered"),
                new Variant(
                        "claim-beside-a-lost-answer",
                        "a message begins a lease after an answer that is unknown",
                        ATTEMPT,
                        "&& !unknown && !ofNodes;",
                        "&& !ofNodes;"),
                new Variant(
                        "claim-forgets-ballots",
                        "the release of a claimed lease raises the fence to its tokens only",
                        ATTEMPT,
                        "new Acquired(claim.grant(), highestBallot, claim.claimNanos())",
                        "new Acquired(claim.grant(), claim.grant().tokens().last(), claim.claimNanos())"),
                new Variant(
                        "claim-of-another-attempt",
                        "a message for one attempt begins the lease of another",
                        SHELL,
                        "if (of != null && !of.equals(owner)) {",
                        "if (of != null && name == null) {"),
                new Variant(
                        "release-before-the-renewal-of-a-claim",
                        "a release is overtaken by the renewal of a claim",
                        GRANT,
                        "sending = isHeld();",
                        "sending = isHeld() || claimed;"),
                new Variant(
                        "claim-renewed-later",
                        "a claim is not renewed at once",
                        GRANT,
                        "if (claimed) {\n            List<Action>",
                        "if (claimed && !timings.renewed()) {\n            List<Action>"),
                new Variant(
                        "claim-renewed-once",
                        "a renewal of a claim that fails is repeated as those of other leases",
                        GRANT,
                        "return claimed || (doubts != null",
                        "return (doubts != null"),
                new Variant(
                        "claim-without-replicas",
                        "a message counts although replicas must acknowledge grants",
                        NODE,
                        "settings.member() || settings.acknowledgement().isWanted()",
                        "settings.member()"),
                new Variant(
                        "claim-of-a-member",
                        "a member of a set gives a channel",
                        NODE,
                        "origin == null || settings.member() ||",
                        "origin == null ||"),
                new Variant(
                        "claim-of-another-server",
                        "a message of one server is compared with the answers of another",
                        NODE,
                        "link == null || !link.incarnation().equals(origin.server())",
                        "link == null"),
                new Variant(
                        "claim-of-another-writer",
                        "a message of a new primary counts that its replica, the former one, passes on",
                        NODE,
                        "writer.isEmpty() || !writer.get().equals(origin.server())",
                        "false"),
                new Variant(
                        "claim-of-a-kept-lock",
                        "a lease whose lock must stay taken for a time begins from a message",
                        TIMINGS,
                        "return renewed() && !delayed() && !kept",
                        "return renewed() && !delayed()"),
                new Variant(
                        "claim-over-a-younger-link",
                        "a link to the server that was made after the request counts",
                        NODE,
                        "isLinkYounger ? link.madeAtNanos() : origin.sinceAtNanos()",
                        "origin.sinceAtNanos()"),
                new Variant(
                        "claim-by-broadcast",
                        "a message of a Cluster counts as one of the server of the requests",
                        NODE,
                        "message(message, null);",
                        "message(message, new WakeUps.Origin(topology.connected().get(0).incarnation(), 0));"),
                new Variant(
                        "claim-over-a-broken-channel",
                        "a message of a connection that has ended has an origin",
                        CHANNEL,
                        "connection.isOpen() ? origin : null",
                        "origin"),
                new Variant(
                        "claim-over-a-channel-without-age",
                        "a connection counts as older than it is",
                        CHANNEL,
                        "new Origin(told, runtime.nanoTime())",
                        "new Origin(told, 0)"),
                new Variant(
                        "claim-by-a-name-of-before",
                        "a script names the server that the connection led to when it was made",
                        CALLS,
                        "ScriptCall.ofLock(LuaScript.RELEASE, lock, arguments, life, common)",
                        "ScriptCall.ofLock(LuaScript.RELEASE, lock, arguments, LifeCheck.CONNECTION, common)"));
    }
}

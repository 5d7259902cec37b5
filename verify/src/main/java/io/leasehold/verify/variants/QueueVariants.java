package io.leasehold.verify.variants;

import java.util.List;

/** Variants of the stores whose locks are queues. */
final class QueueVariants {

    private QueueVariants() {}

    static List<Variant> etcd() {
        return List.of(
                new Variant(
                        "etcd-lost-event",
                        "a watch that has ended triggers no further reading",
                        "etcd/QueueEntry.java",
                        "(watch, what) -> awaitedIsOver(watch)",
                        "(watch, what) -> { if (what == EtcdCalls.Heard.DELETED) awaitedIsOver(watch); }"),
                new Variant(
                        "etcd-key-before-the-answer",
                        "a lock is granted as soon as the key is requested, even behind others",
                        "etcd/QueueEntry.java",
                        "if (blocking.isEmpty()) {",
                        "if (blocking.isEmpty() || !own.data().isReader()) {"),
                new Variant(
                        "etcd-extended-from-the-reply",
                        "an extension counts from its reply",
                        "etcd/KeyLease.java",
                        "one.fromNanos = sentAtNanos;",
                        "one.fromNanos = runtime.nanoTime();"),
                new Variant(
                        "etcd-lease-in-doubt-used-again",
                        "a lease is passed to the next attempt although a request that puts a key under it was lost",
                        "etcd/KeyLease.java",
                        "return seconds > 0 && puts == 0 &&",
                        "return seconds > 0 &&"),
                new Variant(
                        "etcd-late-put",
                        "a removal is confirmed before the revocation of the lease under which a late request "
                                + "may create the key again",
                        "etcd/KeyLease.java",
                        "doubtful = List.copyOf(leaving);",
                        "doubtful = List.of();"),
                new Variant(
                        "etcd-lease-for-two",
                        "an unused lease is given to each attempt that requests one",
                        "etcd/LeasePool.java",
                        "                newestFirst.remove();\n",
                        ""),
                new Variant(
                        "etcd-lease-believed-when-taken",
                        "an unused lease counts from the time at which an attempt takes it, and is not extended",
                        "etcd/KeyLease.java",
                        "sentAtNanos - leased.ttlNanos()), sentAtNanos);\n            return CompletableFuture.completedFuture(false);",
                        "sentAtNanos), sentAtNanos);\n            return CompletableFuture.completedFuture(true);"),
                new Variant(
                        "etcd-lease-believed-after-a-sleep",
                        "a lease that an earlier request of the attempt was granted counts from then, by the clock which stands"
                                + " still while the machine sleeps",
                        "etcd/QueueEntry.java",
                        "make(request, leased, false, looks)",
                        "make(request, leased, true, looks)"),
                recheckFromMemory("etcd"));
    }

    static List<Variant> zooKeeper() {
        return List.of(
                new Variant(
                        "zookeeper-lost-event",
                        "a waiter's recheck is answered from memory after its event has come",
                        "zookeeper/AwaitedNode.java",
                        "if (place.awaitedIsOver()) {",
                        "if (path != null && place.awaitedIsOver()) {"),
                new Variant(
                        "zookeeper-turn-of-another",
                        "a lock is granted to the second waiter as well",
                        "zookeeper/QueueEntry.java",
                        "if (blocking == null) {",
                        "if (blocking == null || view.ours() <= 1) {"),
                new Variant(
                        "zookeeper-session-in-full",
                        "the time in which the leader may have received no sign of life of a session also counts",
                        "zookeeper/Session.java",
                        "return sentAtNanos - unsureNanos(ttlNanos);",
                        "return sentAtNanos + NANOS_PER_MILLI * 1_500;"),
                new Variant(
                        "zookeeper-turn-from-its-answer",
                        "a turn counts from the moment at which it is taken",
                        "zookeeper/QueueEntry.java",
                        "long fromNanos, long forNanos) {\n        UnsafeStoreException",
                        "long fromNanos, long forNanos) {\n        fromNanos = shared.runtime.nanoTime();\n        UnsafeStoreException"),
                new Variant(
                        "zookeeper-sleep-unnoticed",
                        "the age of a proof is measured with the clock that stands still while the machine sleeps",
                        "spi/toolkit/Sending.java",
                        "return nanos - Math.max(0, passedNanos - awakeNanos);",
                        "return nanos;"),
                new Variant(
                        "zookeeper-proof-of-any-age",
                        "a proof counts for a turn at any age, as if it had exactly the maximum age",
                        "zookeeper/Session.java",
                        "return Optional.ofNullable(proven).filter(last -> last.ageNanos(runtime) <= nanos);",
                        "return Optional.ofNullable(proven).map(last -> last.ageNanos(runtime) <= nanos ? last"
                                + " : new Sending(runtime.nanoTime() - nanos, runtime.wallMillis()));"),
                new Variant(
                        "zookeeper-first-behind-others",
                        "a waiter takes its turn when its predecessor's node has gone, although others are before it",
                        "zookeeper/QueueEntry.java",
                        "boolean isNext = view.ours() == 1 && !isReader;",
                        "boolean isNext = !isReader;"),
                new Variant(
                        "zookeeper-token-of-the-turn",
                        "a token is not that of the node",
                        "zookeeper/QueueEntry.java",
                        "return shared.tokens.token(own.czxid(), attempt.data().generation());",
                        "return shared.tokens.token(own.czxid() / 4, attempt.data().generation());"),
                recheckFromMemory("zookeeper"));
    }

    /** A variant of the code that both share. */
    private static Variant recheckFromMemory(String store) {
        return new Variant(
                store + "-recheck-from-memory",
                "a waiter whose watch is over is answered from memory",
                "spi/toolkit/QueuePlace.java",
                "                && awaiting\n",
                "");
    }
}

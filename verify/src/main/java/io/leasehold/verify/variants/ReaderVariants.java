package io.leasehold.verify.variants;

import java.util.List;

/** Those of the readers of a lock: at the node in memory, in the engine, in the scripts, and in queues. */
final class ReaderVariants {

    private static final String MEMORY = "memory/Readers.java";
    private static final String NODE = "memory/InMemoryReaders.java";
    private static final String ACQUIRE = "redis/wire/read_acquire.lua";
    private static final String RELEASE = "redis/wire/read_release.lua";
    private static final String RELEASE_KEY = "redis/wire/read_release_key.lua";
    private static final String RENEW = "redis/wire/read_renew.lua";
    private static final String DOWNGRADE = "redis/wire/read_downgrade.lua";
    private static final String FORCE = "redis/wire/read_force_release.lua";
    private static final String RECORD = "redis/wire/shared/readers.lua";
    private static final String END = "redis/wire/shared/end_readers.lua";
    private static final String SERVE = "redis/wire/shared/serve_readers.lua";
    private static final String FLOOR = "read_floor = of and tonumber(of) == fence and tonumber(floor) or fence";

    private ReaderVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "readers-no-pair",
                        "the floor of readers does not know that a writer came in between",
                        MEMORY,
                        "return fence == fenceSeen ? floor : fence;",
                        "return floor;"),
                new Variant(
                        "readers-against-any",
                        "a reader must exceed the fence, which other readers raise",
                        MEMORY,
                        "return fence == fenceSeen ? floor : fence;",
                        "return fence;"),
                new Variant(
                        "readers-end-raises-any-only",
                        "the end of a reader raises the fence, and not the floor of readers",
                        MEMORY,
                        "return seen(Math.max(floor(fence), ballot), Math.max(fence, ballot));",
                        "return seen(floor(fence), Math.max(fence, ballot));"),
                new Variant(
                        "readers-end-raises-own-only",
                        "the end of a reader raises the floor of readers, and not the fence",
                        MEMORY,
                        "return seen(Math.max(floor(fence), ballot), Math.max(fence, ballot));",
                        "return seen(Math.max(floor(fence), ballot), fence);"),
                new Variant(
                        "readers-pass-a-writer",
                        "a reader passes the writer that waits before it",
                        NODE,
                        " || !entry.isBehindReadersOnly(request.owner())",
                        ""),
                new Variant(
                        "readers-with-a-writer",
                        "waiting readers are let in while a writer holds",
                        "memory/Serving.java",
                        "entry.heldAt(nowNanos) == null :",
                        "true :"),
                new Variant(
                        "readers-old-token-after-a-downgrade",
                        "a writer that becomes a reader may keep a token of its range",
                        NODE,
                        "unacceptable(ballot, entry, entry.fence, step);",
                        "unacceptable(ballot, entry, entry.readers.floor(0), step);"),
                new Variant(
                        "readers-join-late",
                        "a reader may join the hold of its process at any time",
                        "engine/ReadJoins.java",
                        "sinceNanos >= windowNanos",
                        "sinceNanos < 0"),
                new Variant(
                        "readers-first-ends-all",
                        "the first reader of a process that leaves ends the hold of the others",
                        "engine/ReadShares.java",
                        "if (!live.isEmpty() || expected > 0) {",
                        "if (expected > 0) {"),
                new Variant(
                        "readers-script-no-pair",
                        "the floor of readers does not know that a writer came in between",
                        RECORD,
                        FLOOR,
                        "read_floor = tonumber(floor) or fence"),
                new Variant(
                        "readers-script-against-any",
                        "a reader must exceed the fence, which other readers raise",
                        RECORD,
                        FLOOR,
                        "read_floor = fence"),
                new Variant(
                        "readers-script-end-raises-any-only",
                        "the end of a reader raises the fence, and not the floor of readers",
                        END,
                        "  read_floor = math.max(read_floor, ballot)\n",
                        ""),
                new Variant(
                        "readers-script-renewal-moves-no-marker",
                        "a renewal extends a reader, and not the lock",
                        RENEW,
                        "    _, err = try('SET', lock, MARKER,",
                        "    _, err = try('GET', lock) or try('SET', lock, MARKER,"),
                new Variant(
                        "readers-script-renewal-trusts-the-ends",
                        "a renewal does not extend a lock alone that ends sooner than its readers",
                        RENEW,
                        "local is_short = left < ttl or later",
                        "local is_short = later"),
                new Variant(
                        "readers-script-other-clock",
                        "a reader ends as written, although the lock says that the clock is another one",
                        RECORD,
                        "    shift = math.max(0, marked - readers_end)\n",
                        ""),
                new Variant(
                        "readers-script-rest-not-served",
                        "the grant of a queued reader lets no reader behind it in",
                        ACQUIRE,
                        "      serve_others('', fence, true)\n",
                        ""),
                new Variant(
                        "readers-script-grant-moves-no-marker",
                        "a further reader does not extend the lock",
                        "redis/wire/shared/grant_reader.lua",
                        "  if ends > readers_end then",
                        "  if readers_end == 0 then"),
                new Variant(
                        "readers-script-one-end",
                        "a reader ends with the last one, as if they had one end together",
                        RECORD,
                        "  if ends and tonumber(ends) + shift > now then",
                        "  if ends then"),
                new Variant(
                        "readers-script-marker-stays",
                        "the lock does not end with the readers that are left",
                        END,
                        "    mark(readers_end, false)\n",
                        ""),
                new Variant(
                        "readers-script-writer-overtaken",
                        "a reader is granted the lock although a writer waits before it",
                        ACQUIRE,
                        "\nif is_next then",
                        "\nif is_open then"),
                new Variant(
                        "readers-script-token-not-above",
                        "a reader that is handed the lock has a token that others may have",
                        SERVE,
                        "one.first = math.max(last + 1, now)",
                        "one.first = now"),
                new Variant(
                        "readers-script-unheard",
                        "a waiter that could not be notified stays a reader",
                        SERVE,
                        "    try('HDEL', READERS, unpack(unheard))\n",
                        ""),
                new Variant(
                        "readers-script-withdrawal",
                        "a writer that withdraws lets no reader in",
                        "redis/wire/release.lua",
                        " or value == MARKER) then",
                        ") then"),
                new Variant(
                        "readers-script-former",
                        "a reader whose lock was lost is one again after a later reader came",
                        RECORD,
                        "    try('DEL', READERS)\n    recorded = nil",
                        "    recorded = nil"),
                new Variant(
                        "readers-script-upgrade",
                        "an operator's or a writer's request takes the lock from readers as from one holder",
                        "redis/wire/force_release.lua",
                        "if value == MARKER then\n  return {'readers'}\nend\n",
                        ""),
                new Variant(
                        "readers-script-downgrade-below",
                        "the token of a downgraded lease need not exceed those of the writer",
                        "redis/wire/shared/downgrade.lua",
                        "local floor = math.max(fence, now",
                        "local floor = math.max(0, now"),
                new Variant(
                        "readers-script-downgrade-serves-nobody",
                        "a downgrade lets no waiting reader in",
                        DOWNGRADE,
                        "    serve_first(owner, last)\n",
                        ""),
                new Variant(
                        "readers-script-renewed-without-lock",
                        "a renewal extends a reader although the lock is not that of readers",
                        RENEW,
                        "if not found or found[1] ~= MARKER then",
                        "if not found then"),
                new Variant(
                        "readers-script-revives",
                        "a renewal extends a reader that has ended",
                        RENEW,
                        "  if ends + shift <= now then",
                        "  if ends == 0 then"),
                new Variant(
                        "readers-script-key-alone",
                        "while a slot is moved, the end of a reader does not raise the floor of readers",
                        RELEASE_KEY,
                        "    floor = digits(ballot)\n",
                        ""),
                new Variant(
                        "readers-script-forced-below",
                        "a forced release does not raise the floors",
                        FORCE,
                        "end_at(math.max(now, fence), fence)",
                        "end_at(0, fence)"),
                new Variant(
                        "readers-script-any-owner",
                        "a release ends all readers",
                        END,
                        "return reader == owner\n",
                        "return true\n"),
                new Variant(
                        "readers-script-serves-free-only",
                        "while readers are left, the release of another one serves no waiter",
                        RELEASE,
                        "(ours or readers_end > 0 or not value)",
                        "(ours or not value)"));
    }

    /** Those of readers in the queues of etcd. */
    static List<Variant> etcd() {
        return List.of(
                new Variant(
                        "etcd-readers-pass-a-writer",
                        "a reader holds although a writer is before it",
                        "etcd/KeysBefore.java",
                        "found = QueueHeads.isReader(one) ? found : one;",
                        "found = last;"),
                new Variant(
                        "etcd-writers-pass-readers",
                        "a writer holds although readers are before it",
                        "etcd/KeysBefore.java",
                        "first.getCreateRevision() != made)",
                        "first.getCreateRevision() != made && !QueueHeads.isReader(first))"),
                new Variant(
                        "etcd-readers-token-of-the-writer",
                        "a writer that becomes a reader keeps its token",
                        "spi/toolkit/TokenBase.java",
                        "GENERATIONS * revision + generation",
                        "GENERATIONS * revision"),
                new Variant(
                        "etcd-readers-key-of-a-writer",
                        "a downgrade is confirmed, and the key stays that of a writer",
                        "etcd/KeyDowngrade.java",
                        "etcd.change(own.key(), made, own.value(), to, leased.id())",
                        "etcd.move(own.key(), made, own.value(), leased.id()).thenApply(moved ->"
                                + " new EtcdCalls.Found(Optional.of(new KeyValue(io.etcd.jetcd.api.KeyValue.newBuilder()"
                                + ".setCreateRevision(made).setValue(com.google.protobuf.ByteString.copyFrom("
                                + "to.getBytes())).build(), ByteSequence.EMPTY)), moved.front().revision()))"));
    }

    /** Those of readers in the queues of ZooKeeper. */
    static List<Variant> zooKeeper() {
        return List.of(
                new Variant(
                        "zookeeper-readers-pass-a-writer",
                        "a reader holds although a writer is before it",
                        "zookeeper/NodesBefore.java",
                        "found.filter(entry -> !QueueHeads.isReader(entry))",
                        "found.filter(entry -> entry.session() == 0)"),
                new Variant(
                        "zookeeper-readers-token-of-the-writer",
                        "a writer that becomes a reader keeps its token",
                        "zookeeper/QueueEntry.java",
                        "return shared.tokens.token(own.czxid(), attempt.data().generation());",
                        "return shared.tokens.token(own.czxid(), 0);"),
                new Variant(
                        "zookeeper-readers-by-the-first",
                        "a reader looks at the first node only",
                        "zookeeper/NodesBefore.java",
                        "queue.subList(0, ours))",
                        "queue.subList(0, 1))"));
    }
}

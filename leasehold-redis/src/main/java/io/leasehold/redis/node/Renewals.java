package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LockValue;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Renews holds, as many as possible with one script. */
final class Renewals {

    /**
     * The most locks of one script: each takes the server 3 to 7 µs, so it answers others within one and a half
     * milliseconds.
     */
    private static final int MAX_IN_ONE = 200;

    private final Requests requests;
    private final Topology topology;
    private final KeyLayout keys;
    private final ReplyDecoder decoder;
    private final LockRuntime runtime;

    Renewals(Requests requests, Topology topology, KeyLayout keys, ReplyDecoder decoder, LockRuntime runtime) {
        this.requests = requests;
        this.topology = topology;
        this.keys = keys;
        this.decoder = decoder;
        this.runtime = runtime;
    }

    CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return new RenewalGroups(batch.items(), MAX_IN_ONE, item -> keys.lock(item.name()), this::group)
                .renew(together -> renew(together, batch.timeoutNanos()))
                .thenApply(RenewReply::new);
    }

    /** The group of a renewal: its slot, and its kind, since each kind has a script of its own. */
    private String group(RenewBatch.Item item, String key) {
        String slot = topology.slotTag(key);
        return item.name().isPermits() ? "permits " + slot : item.name().isRead() ? "read " + slot : slot;
    }

    private CompletableFuture<List<RenewReply.Item>> renew(RenewalGroups.Group group, long timeoutNanos) {
        List<RenewBatch.Item> items = group.items();
        LockName first = items.get(0).name();
        LuaScript script =
                first.isPermits() ? LuaScript.PERMITS_RENEW : first.isRead() ? LuaScript.READ_RENEW : LuaScript.RENEW;
        String kind = first.isPermits() ? " permits" : first.isRead() ? " read locks" : " locks";
        Object subject = items.size() == 1
                ? new Requests.Subject("renew", first)
                : "renew " + items.size() + kind + ", among them \"" + first + "\"";
        ScriptCall together = new ScriptCall(script, keysOf(group, first.isRead()), arguments(items));
        long sentAtNanos = runtime.nanoTime();
        CompletableFuture<List<RenewReply.Item>> answers = run(subject, together, items, sentAtNanos, timeoutNanos);
        if (!first.isRead() || items.size() > 1) {
            return answers;
        }
        return answers.thenCompose(answer -> FailedReplies.isOfMigration(answer.get(0))
                ? apart(subject, group, sentAtNanos, timeoutNanos)
                : CompletableFuture.completedFuture(answer));
    }

    private CompletableFuture<List<RenewReply.Item>> run(
            Object subject, ScriptCall call, List<RenewBatch.Item> items, long sentAtNanos, long timeoutNanos) {
        return requests.run(
                subject,
                timeoutNanos,
                call,
                (reply, link) -> {
                    List<RenewReply.Item> renewed = decoder.renew(reply, items, sentAtNanos);
                    // The script replies with the errors of its commands, so the request itself has not failed.
                    if (reply.stream().anyMatch(item -> item instanceof String text && RedisErrors.isReadOnly(text))) {
                        topology.takesNoWrites(link);
                    }
                    return renewed;
                },
                failure -> Collections.nCopies(items.size(), new RenewReply.Failed(failure.error())));
    }

    /**
     * Renews one reader whose keys are at two servers: first the lock, which would go to a writer if it ended before its
     * last reader.
     */
    private CompletableFuture<List<RenewReply.Item>> apart(
            Object subject, RenewalGroups.Group group, long sentAtNanos, long timeoutNanos) {
        List<RenewBatch.Item> items = group.items();
        String lock = group.keys().get(0);
        String[] arguments = arguments(items);
        ScriptCall ofLock =
                new ScriptCall(LuaScript.RENEW, new String[] {lock}, new String[] {arguments[0], LockValue.READERS});
        ScriptCall ofReader =
                new ScriptCall(LuaScript.READ_RENEW_KEY, new String[] {KeyLayout.readers(lock)}, arguments);
        return run(subject, ofLock, items, sentAtNanos, timeoutNanos)
                .thenCompose(answer -> answer.get(0) instanceof RenewReply.Renewed
                        ? run(subject, ofReader, items, sentAtNanos, timeoutNanos)
                        : CompletableFuture.completedFuture(answer));
    }

    private static String[] keysOf(RenewalGroups.Group group, boolean read) {
        Stream<String> locks = group.keys().stream();
        Stream<String> all = read ? locks.flatMap(lock -> Stream.of(lock, KeyLayout.readers(lock))) : locks;
        return all.toArray(String[]::new);
    }

    /** One ttl if all have the same, else one for each; then what each value must begin with. */
    private static String[] arguments(List<RenewBatch.Item> items) {
        long ttlMillis = NodeSettings.ceilMillis(items.get(0).ttlNanos());
        int ttls = 1;
        for (RenewBatch.Item item : items) {
            ttls = NodeSettings.ceilMillis(item.ttlNanos()) == ttlMillis ? ttls : items.size();
        }
        String[] arguments = new String[ttls + items.size()];
        for (int i = 0; i < ttls; i++) {
            arguments[i] = Long.toString(NodeSettings.ceilMillis(items.get(i).ttlNanos()));
        }
        for (int i = 0; i < items.size(); i++) {
            arguments[ttls + i] = LockValue.beginning(items.get(i).owner());
        }
        return arguments;
    }
}

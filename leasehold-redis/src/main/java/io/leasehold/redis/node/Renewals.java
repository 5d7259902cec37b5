package io.leasehold.redis.node;

import io.leasehold.LockName;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.ReplyDecoder;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Renews holds, as many as possible with one script. */
final class Renewals {

    private static final int MAX_IN_ONE = 500;

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
        return new RenewalGroups(batch.items(), MAX_IN_ONE, this::group)
                .renew(together -> renew(together, batch.timeoutNanos()))
                .thenApply(RenewReply::new);
    }

    /** The group of an item: its slot, and whether it is a permit, which has a script of its own. */
    private String group(RenewBatch.Item item) {
        String slot = topology.slotTag(keys.lock(item.name()));
        return item.name().isPermits() ? "permits " + slot : slot;
    }

    private CompletableFuture<List<RenewReply.Item>> renew(List<RenewBatch.Item> items, long timeoutNanos) {
        String[] locks = new String[items.size()];
        String[] arguments = new String[2 * items.size()];
        for (int i = 0; i < locks.length; i++) {
            RenewBatch.Item item = items.get(i);
            locks[i] = keys.lock(item.name());
            arguments[2 * i] = item.owner().hex();
            arguments[2 * i + 1] = Long.toString(NodeSettings.ceilMillis(item.ttlNanos()));
        }
        List<LockName> names = items.stream().map(RenewBatch.Item::name).toList();
        String subject = items.size() == 1
                ? "renew lock \"" + names.get(0) + "\""
                : "renew " + items.size() + " locks, among them \"" + names.get(0) + "\"";
        long sentAtNanos = runtime.nanoTime();
        return requests.run(
                subject,
                timeoutNanos,
                new ScriptCall(names.get(0).isPermits() ? LuaScript.PERMITS_RENEW : LuaScript.RENEW, locks, arguments),
                (reply, link) -> decoder.renew(reply, names, sentAtNanos),
                failure -> items.stream()
                        .<RenewReply.Item>map(item -> new RenewReply.Failed(failure.error()))
                        .toList());
    }
}

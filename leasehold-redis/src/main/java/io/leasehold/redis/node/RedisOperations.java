package io.leasehold.redis.node;

import io.leasehold.ClientRecord;
import io.leasehold.Finding;
import io.leasehold.Leak;
import io.leasehold.LockName;
import io.leasehold.redis.topology.Subscriptions;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.Messages;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreOperations;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.LongConsumer;

/**
 * What operators get of one server: records of clients as keys that expire, a word to a client whose lock was taken, a search
 * for leaks, a diagnosis.
 */
final class RedisOperations implements StoreOperations {

    private static final long TIMEOUT_NANOS = 5_000_000_000L;

    private final String node;
    private final Requests requests;
    private final Subscriptions subscriptions;
    private final LockRuntime runtime;
    private final boolean member;
    private final Walk walk;

    RedisOperations(
            String node,
            Requests requests,
            Subscriptions subscriptions,
            LockRuntime runtime,
            NodeSettings settings,
            Walk walk) {
        this.walk = walk;
        this.node = node;
        this.requests = requests;
        this.subscriptions = subscriptions;
        this.runtime = runtime;
        this.member = settings.member();
    }

    private <R> CompletableFuture<R> ask(
            String what, Function<RedisAsyncCommands<String, String>, ? extends CompletionStage<R>> command) {
        return requests.<R, R>send(
                what, TIMEOUT_NANOS, (link, then) -> link.send(command, then), (reply, link) -> reply, failure -> {
                    throw failure.error();
                });
    }

    @Override
    public boolean keepsClientRecords() {
        return true;
    }

    /** With the first record the client begins to listen, so that it can be told when a lock is taken from it. */
    @Override
    public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        return subscriptions
                .started()
                .thenCompose(live -> ask(
                        "keep the record of a client",
                        redis -> redis.set(
                                KeyLayout.client(record.holderId()),
                                (live ? subscriptions.channel() : "-") + "\n" + record.encoded(),
                                SetArgs.Builder.px(NodeSettings.ceilMillis(keepNanos)))))
                .thenApply(done -> null);
    }

    @Override
    public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return stored(holderId).thenApply(text -> text.flatMap(t -> ClientRecord.decoded(afterChannel(t))));
    }

    private CompletableFuture<Optional<String>> stored(String holderId) {
        // MGET, since a key of another type is no error then.
        return ask("read the record of a client", redis -> redis.mget(KeyLayout.client(holderId)))
                .thenApply(values ->
                        values.get(0).hasValue() ? Optional.of(values.get(0).getValue()) : Optional.empty());
    }

    private static String afterChannel(String text) {
        return text.substring(text.indexOf('\n') + 1);
    }

    /** Tells the client that this lock was taken from it; whether it could be told does not matter to anything. */
    CompletableFuture<Void> tellTaken(LockName name, String holderId) {
        return stored(holderId)
                .thenCompose(text -> {
                    String channel = text.map(t -> t.substring(0, Math.max(0, t.indexOf('\n'))))
                            .orElse("-");
                    return channel.startsWith(Subscriptions.PREFIX)
                            ? ask("tell a holder", redis -> redis.publish(channel, Messages.taken(name)))
                            : CompletableFuture.completedFuture(0L);
                })
                .<Void>thenApply(heard -> null)
                .exceptionally(error -> null);
    }

    @Override
    public void onProgress(LongConsumer seen) {
        walk.onProgress(seen);
    }

    @Override
    public CompletableFuture<List<Leak>> leaks() {
        return new SideKeySearch(requests, runtime, walk).find();
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        CompletableFuture<Map<String, String>> config = configuration("*append*")
                .thenCombine(configuration("maxmemory*"), RedisOperations::union)
                .thenCombine(configuration("min-replicas-*"), RedisOperations::union)
                .thenCombine(configuration("client-output-buffer-limit"), RedisOperations::union)
                .thenCombine(configuration("timeout"), RedisOperations::union)
                .exceptionally(refused -> Map.of());
        CompletableFuture<Map<String, String>> info =
                ask("read INFO", RedisAsyncCommands::info).thenApply(RedisOperations::fields);
        CompletableFuture<Long> skew = ask("read the clock", RedisAsyncCommands::time)
                .thenApply(time -> Long.parseLong(time.get(0)) * 1_000
                        + Long.parseLong(time.get(1)) / 1_000
                        - runtime.wallMillis());
        CompletableFuture<Boolean> subscribed = subscriptions.started();
        return CompletableFuture.allOf(config, info, skew, subscribed)
                .thenApply(done -> new ServerChecks(
                                node, config.join(), info.join(), skew.join(), subscribed.join(), member)
                        .findings());
    }

    private CompletableFuture<Map<String, String>> configuration(String pattern) {
        return ask("read its configuration", redis -> redis.configGet(pattern));
    }

    private static Map<String, String> union(Map<String, String> one, Map<String, String> other) {
        Map<String, String> all = new HashMap<>(one);
        all.putAll(other);
        return all;
    }

    private static Map<String, String> fields(String info) {
        Map<String, String> fields = new HashMap<>();
        info.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).strip());
            }
        });
        return fields;
    }
}

package io.leasehold.redis.node;

import io.leasehold.Guarantee;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Leak;
import io.leasehold.redis.topology.Link;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.topology.WakeUps;
import io.leasehold.redis.wire.InfoText;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LifeCheck;
import io.leasehold.redis.wire.Messages;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.LongConsumer;
import java.util.stream.Stream;

/**
 * Administrative operations on one deployment: records of clients as keys that expire, a message to a client whose lock
 * was removed, a search for leaks, a diagnosis.
 */
final class RedisOperations implements StoreOperations {

    /** The prefix of every channel of Leasehold. Messages go only to such channels, whatever a record contains. */
    private static final String CHANNELS = "lock:wake:";

    private final String node;
    private final Requests requests;
    private final RedisErrors errors;
    private final Topology topology;
    private final WakeUps wakeUps;
    private final LockRuntime runtime;
    private final boolean member;
    private final LifeCheck life;
    private final KeyLayout keys;
    private final KeyScan scan;

    RedisOperations(
            String node,
            Requests requests,
            RedisErrors errors,
            Topology topology,
            WakeUps wakeUps,
            LockRuntime runtime,
            NodeSettings settings,
            KeyScan scan) {
        this.scan = scan;
        this.node = node;
        this.requests = requests;
        this.errors = errors;
        this.topology = topology;
        this.wakeUps = wakeUps;
        this.runtime = runtime;
        this.member = settings.member();
        this.life = settings.guarantees().exclusion() == Guarantee.Exclusion.WITHIN_DRIFT
                ? LifeCheck.DURABLE
                : settings.lifeCheck();
        this.keys = settings.keys();
    }

    @Override
    public boolean keepsClientRecords() {
        // With another key layout, the users' rights may cover only the keys of locks.
        return keys.isAlone();
    }

    /**
     * Writes the record. With the first record the client subscribes, so that it is notified when an operator removes
     * its lock.
     */
    @Override
    public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
        if (!keepsClientRecords()) {
            return CompletableFuture.completedFuture(null);
        }
        String key = KeyLayout.client(record.holderId());
        // Channels of a Cluster belong to slots: a message at the slot of the record would not reach the channel of a
        // lock.
        boolean reachable = topology.slotTag(key).isEmpty();
        CompletableFuture<Boolean> listening =
                reachable ? wakeUps.started(key) : CompletableFuture.completedFuture(false);
        return listening
                .thenCompose(live -> requests.sendOrThrow(
                        "keep the record of a client",
                        key,
                        PlainCommand.set(
                                key,
                                (live ? wakeUps.channel(key) : "-") + "\n" + record.encoded(),
                                NodeSettings.ceilMillis(keepNanos))))
                .thenApply(done -> null);
    }

    @Override
    public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
        return stored(holderId).thenApply(text -> text.flatMap(t -> ClientRecord.decoded(afterChannel(t))));
    }

    private CompletableFuture<Optional<String>> stored(String holderId) {
        if (!keepsClientRecords()) {
            return CompletableFuture.completedFuture(Optional.empty());
        }
        // Use MGET, for which a key of another type is not an error.
        String key = KeyLayout.client(holderId);
        return requests.sendOrThrow("read the record of a client", key, PlainCommand.mget(key))
                .thenApply(values -> Optional.ofNullable(values.get(0)));
    }

    private static String afterChannel(String text) {
        return text.substring(text.indexOf('\n') + 1);
    }

    /** Notifies the client that its lock was removed, as best effort: nothing depends on the success. */
    CompletableFuture<Void> tellTaken(LockName name, String holderId) {
        return stored(holderId)
                .thenCompose(text -> {
                    String channel = text.map(t -> t.substring(0, Math.max(0, t.indexOf('\n'))))
                            .orElse("-");
                    return channel.startsWith(CHANNELS)
                            ? requests.sendOrThrow(
                                    "tell a holder",
                                    KeyLayout.client(holderId),
                                    PlainCommand.publish(channel, Messages.taken(name, keys)))
                            : CompletableFuture.completedFuture(0L);
                })
                .<Void>thenApply(heard -> null)
                .exceptionally(error -> {
                    if (Failure.unwrapped(error) instanceof StoreAccessException && error.getCause() != null) {
                        Throwable refusal = Failure.unwrapped(error).getCause();
                        errors.warnOnce(String.valueOf(refusal == null ? null : refusal.getMessage()), "tell a holder");
                    }
                    return null;
                });
    }

    @Override
    public void onProgress(LongConsumer seen) {
        scan.onProgress(seen);
    }

    @Override
    public CompletableFuture<List<Leak>> leaks() {
        return new SideKeySearch(requests, runtime, scan, keys, !member).find();
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        CompletableFuture<List<Finding>> all = CompletableFuture.completedFuture(List.of());
        try {
            List<Link> masters = topology.everywhere();
            for (int i = 0; i < masters.size(); i++) {
                String name = masters.size() == 1 ? node : node + " (master " + (i + 1) + ")";
                all = all.thenCombine(diagnose(masters.get(i), name), RedisOperations::both);
            }
        } catch (LockStoreException e) {
            return CompletableFuture.failedFuture(e);
        }
        return all;
    }

    private static List<Finding> both(List<Finding> one, List<Finding> other) {
        return Stream.concat(one.stream(), other.stream()).toList();
    }

    private CompletableFuture<List<Finding>> diagnose(Link master, String name) {
        // Its answer comes before those of all the others.
        CompletableFuture<Boolean> direct = master.isDirect();
        CompletableFuture<Map<String, String>> config = configuration(master, "*append*")
                .thenCombine(configuration(master, "maxmemory*"), DurabilityCheck::union)
                .thenCombine(configuration(master, "min-replicas-*"), DurabilityCheck::union)
                .thenCombine(configuration(master, "client-output-buffer-limit"), DurabilityCheck::union)
                .thenCombine(configuration(master, "timeout"), DurabilityCheck::union)
                .exceptionally(RedisOperations::forbidden);
        // Request this after the settings, so that it counts changes in between.
        CompletableFuture<SettingsOrigin> origin = requests.sendOrThrow(
                        "read its statistics", master, PlainCommand.info("commandstats"))
                .thenCombine(
                        requests.sendOrThrow("read its statistics", master, PlainCommand.info("persistence")),
                        SettingsOrigin::of);
        CompletableFuture<Map<String, String>> info =
                requests.sendOrThrow("read INFO", master, PlainCommand.INFO).thenApply(InfoText::fields);
        CompletableFuture<Long> skew = requests.sendOrThrow("read the clock", master, PlainCommand.TIME)
                .thenApply(time -> Long.parseLong(time.get(0)) * 1_000
                        + Long.parseLong(time.get(1)) / 1_000
                        - runtime.wallMillis());
        CompletableFuture<Boolean> subscribed = wakeUps.started(KeyLayout.client("doctor"));
        return CompletableFuture.allOf(config, origin, info, skew, subscribed)
                .thenApply(done -> new ServerChecks(
                                name,
                                config.join(),
                                origin.join(),
                                info.join(),
                                skew.join(),
                                subscribed.join(),
                                member,
                                life,
                                direct.getNow(false))
                        .findings());
    }

    /**
     * Converts a missing right to an empty answer, which is a finding. Any other failure says nothing of the settings.
     */
    private static Map<String, String> forbidden(Throwable error) {
        Throwable cause = Failure.unwrapped(error);
        if (cause instanceof StoreAccessException
                || (cause.getCause() != null && RedisErrors.isRefused(cause.getCause()))) {
            return Map.of();
        }
        throw cause instanceof LockStoreException known ? known : new CompletionException(cause);
    }

    private CompletableFuture<Map<String, String>> configuration(Link master, String pattern) {
        return requests.sendOrThrow("read its configuration", master, PlainCommand.configGet(pattern));
    }
}

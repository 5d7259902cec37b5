package io.leasehold.redis.node;

import io.leasehold.redis.topology.Link;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The durability of a server according to its configuration, if reading it is permitted.
 *
 * @param readable whether {@code CONFIG GET} was answered; false only if the server refuses it
 * @param durableNow whether every acknowledged write survives a crash with the current settings: {@code appendonly
 *     yes}, {@code appendfsync always}, {@code no-appendfsync-on-rewrite no}, {@code maxmemory-policy noeviction}
 * @param origin whether a restart keeps these settings
 * @param evicting the policy by which the server may drop held locks when its memory is full, or null if it does not
 */
public record DurabilityCheck(
        boolean readable,
        boolean durableNow,
        SettingsOrigin origin,
        @Nullable String evicting) {

    /** The durability of a server that does not report it. */
    public static final DurabilityCheck UNREADABLE = new DurabilityCheck(false, false, SettingsOrigin.UNSEEN, null);

    /** Whether every acknowledged write survives a crash and the restart after it. */
    public boolean durable() {
        return durableNow && origin.surviveRestart();
    }

    /**
     * Whether this life of the server began with all acknowledged writes of the previous life: its settings are those
     * of its start. Later settings do not prove what was loaded, even if they were written to the file. If the server
     * does not permit the request, the declaration counts.
     */
    boolean keptAtStart() {
        return !readable || (durableNow && origin == SettingsOrigin.START);
    }

    /** Whether the server is durable now, but nothing proves that a restart keeps it so. */
    public boolean durableUntilRestart() {
        return durableNow && !origin.surviveRestart();
    }

    /**
     * Reads the durability of a server. A refused right is also an answer; any other failure says nothing of the
     * settings.
     *
     * @return fails with the driver's exception if the server did not answer
     */
    public static CompletableFuture<DurabilityCheck> of(Link link) {
        CompletableFuture<Map<String, String>> persistence = link.ask(PlainCommand.configGet("*append*"));
        CompletableFuture<Map<String, String>> memory = link.ask(PlainCommand.configGet("maxmemory*"));
        // Request this after the settings, so that it counts changes in between.
        CompletableFuture<SettingsOrigin> origin = origin(link);
        return persistence
                .thenCombine(memory, DurabilityCheck::union)
                .handle((settings, error) -> {
                    if (error == null) {
                        return origin.thenApply(from -> read(settings, from));
                    }
                    return RedisErrors.isRefused(error)
                            ? CompletableFuture.completedFuture(UNREADABLE)
                            : CompletableFuture.<DurabilityCheck>failedFuture(error);
                })
                .thenCompose(check -> check);
    }

    static CompletableFuture<SettingsOrigin> origin(Link link) {
        CompletableFuture<String> commands = link.ask(PlainCommand.info("commandstats"));
        CompletableFuture<String> files = link.ask(PlainCommand.info("persistence"));
        return commands.thenCombine(files, SettingsOrigin::of);
    }

    /** The common durability of two servers: a property that one of them lacks is missing. */
    public DurabilityCheck weaker(DurabilityCheck other) {
        return new DurabilityCheck(
                readable && other.readable,
                durableNow && other.durableNow,
                origin.surviveRestart() ? other.origin : origin,
                evicting != null ? evicting : other.evicting);
    }

    /** The settings of both answers. */
    static Map<String, String> union(Map<String, String> one, Map<String, String> other) {
        Map<String, String> all = new HashMap<>(one);
        all.putAll(other);
        return all;
    }

    /** Grades the settings. Some services answer with nothing in place of a refusal. */
    static DurabilityCheck read(Map<String, String> settings, SettingsOrigin origin) {
        String policy = settings.get("maxmemory-policy");
        if (policy == null) {
            return UNREADABLE;
        }
        boolean noEviction = policy.equals("noeviction");
        boolean limited = !settings.getOrDefault("maxmemory", "0").equals("0");
        boolean durable = noEviction
                && "yes".equals(settings.get("appendonly"))
                && "always".equals(settings.get("appendfsync"))
                && "no".equals(settings.get("no-appendfsync-on-rewrite"));
        return new DurabilityCheck(true, durable, origin, limited && !noEviction ? policy : null);
    }
}

package io.leasehold.redis.node;

import io.leasehold.redis.topology.Link;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The durability of a server by its configuration, where reading it is permitted.
 *
 * @param readable whether {@code CONFIG GET} was answered; false only where the server refuses it
 * @param durableNow whether every acknowledged write survives a crash with the settings that hold now: {@code appendonly yes},
 *     {@code appendfsync always}, {@code no-appendfsync-on-rewrite no}, {@code maxmemory-policy noeviction}
 * @param origin whether a restart keeps these settings
 * @param evicting the policy by which the server may drop held locks when its memory is full, or null if it does not
 */
public record DurabilityCheck(
        boolean readable,
        boolean durableNow,
        SettingsOrigin origin,
        @Nullable String evicting) {

    /** Of a server that does not say. */
    public static final DurabilityCheck UNREADABLE = new DurabilityCheck(false, false, SettingsOrigin.UNSEEN, null);

    /** Whether every acknowledged write survives a crash, and the restart after it. */
    public boolean durable() {
        return durableNow && origin.surviveRestart();
    }

    /**
     * Whether this life of the server began with all that the life before had acknowledged: its settings are those that it was started
     * with. What was set later, also if it was written to the file, says nothing of what was loaded. A server that may not be asked is
     * believed.
     */
    boolean keptAtStart() {
        return !readable || (durableNow && origin == SettingsOrigin.START);
    }

    /** Whether it is durable now and nothing proves that a restart keeps it so. */
    public boolean durableUntilRestart() {
        return durableNow && !origin.surviveRestart();
    }

    /**
     * Asks the server. A refused right is an answer too; whatever else goes wrong says nothing about the settings.
     *
     * @return fails with what the driver says if the question was not answered
     */
    public static CompletableFuture<DurabilityCheck> of(Link link) {
        CompletableFuture<Map<String, String>> persistence = link.ask(PlainCommand.configGet("*append*"));
        CompletableFuture<Map<String, String>> memory = link.ask(PlainCommand.configGet("maxmemory*"));
        // After the settings: what is changed in between is counted.
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

    /** The durability of two servers together: what one of them lacks, both lack. */
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

    /** Judges the settings; some services answer with nothing instead of a refusal. */
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

package io.leasehold.redis.node;

import io.leasehold.redis.topology.Link;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a server's configuration says about keeping locks, where reading it is permitted.
 *
 * @param readable whether {@code CONFIG GET} was answered
 * @param durable whether every acknowledged write survives a crash: {@code appendonly yes}, {@code appendfsync always},
 *     {@code no-appendfsync-on-rewrite no}, {@code maxmemory-policy noeviction}
 * @param evicting the policy by which the server may drop held locks when its memory is full, or null if it does not
 */
public record DurabilityCheck(
        boolean readable, boolean durable, @Nullable String evicting) {

    private static final DurabilityCheck UNREADABLE = new DurabilityCheck(false, false, null);

    /** Asks the server; a refusal is an answer too. */
    public static CompletableFuture<DurabilityCheck> of(Link link) {
        CompletableFuture<Map<String, String>> persistence = configuration(link, "*append*");
        CompletableFuture<Map<String, String>> memory = configuration(link, "maxmemory*");
        return persistence
                .thenCombine(memory, (p, m) -> {
                    Map<String, String> all = new HashMap<>(p);
                    all.putAll(m);
                    return read(all);
                })
                .exceptionally(refused -> UNREADABLE);
    }

    /** Asks all masters: what one of them lacks, the store lacks. */
    public static CompletableFuture<DurabilityCheck> of(List<Link> masters) {
        return masters.stream()
                .map(DurabilityCheck::of)
                .reduce((one, other) -> one.thenCombine(other, DurabilityCheck::weaker))
                .orElseThrow();
    }

    private DurabilityCheck weaker(DurabilityCheck other) {
        return new DurabilityCheck(
                readable && other.readable, durable && other.durable, evicting != null ? evicting : other.evicting);
    }

    private static CompletableFuture<Map<String, String>> configuration(Link link, String pattern) {
        CompletableFuture<Map<String, String>> found = new CompletableFuture<>();
        link.<Map<String, String>>send(redis -> redis.configGet(pattern), (values, error) -> {
            if (values != null) {
                found.complete(values);
            } else {
                found.completeExceptionally(error == null ? new IllegalStateException("no answer") : error);
            }
        });
        return found;
    }

    /** Judges the settings; some services answer with nothing instead of a refusal. */
    static DurabilityCheck read(Map<String, String> settings) {
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
        return new DurabilityCheck(true, durable, limited && !noEviction ? policy : null);
    }
}

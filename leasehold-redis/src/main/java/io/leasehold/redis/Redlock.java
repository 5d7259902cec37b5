package io.leasehold.redis;

import io.leasehold.CredentialsProvider;
import io.leasehold.quorum.QuorumSettings;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A set of independent Redis servers that decide by quorum: the builder behind {@code redlock:} URIs. Immutable.
 *
 * <pre>{@code
 * Redlock nodes = Redlock.over("redis://a:6379", "redis://b:6379", "redis://c:6379").maxTtl(Duration.ofSeconds(10));
 * LockClient locks = Leasehold.builder().store(nodes::open).connect();
 * }</pre>
 */
public final class Redlock {

    private final List<RedlockUri.Node> nodes;
    private final QuorumSettings settings;

    private Redlock(List<RedlockUri.Node> nodes, QuorumSettings settings) {
        this.nodes = nodes;
        this.settings = settings;
    }

    /**
     * Creates a set of the servers with these {@code redis://} URIs. {@code durable=true} in a URI declares that the
     * server keeps every acknowledged write over a restart. {@code name=…} gives the server a name that is the same for
     * all clients, whatever address they use.
     *
     * @throws IllegalArgumentException if a URI is malformed; the message repeats no secrets
     */
    public static Redlock over(String... uris) {
        List<RedlockUri.Node> nodes = new ArrayList<>();
        for (String uri : uris) {
            nodes.add(RedlockUri.node(uri));
        }
        return new Redlock(List.copyOf(nodes), QuorumSettings.standard());
    }

    static Redlock parse(StoreUri uri) {
        RedlockUri parsed = RedlockUri.parse(uri);
        return new Redlock(parsed.nodes(), parsed.settings());
    }

    /** Sets the largest ttl of any client of this set, which must be the same for all clients. The default is 30 s. */
    public Redlock maxTtl(Duration maxTtl) {
        return new Redlock(nodes, settings.maxTtl(maxTtl));
    }

    /** Sets how long a round waits for a server that does not answer. The default is clamp(ttl/200, 5 ms, 50 ms). */
    public Redlock nodeTimeout(Duration nodeTimeout) {
        return new Redlock(nodes, settings.nodeTimeout(nodeTimeout));
    }

    /**
     * Asks the provider for the credentials of every connection to any of the servers, for each server separately.
     *
     * @throws IllegalArgumentException if the URI of a server names a password itself
     */
    public Redlock credentials(CredentialsProvider provider) {
        Objects.requireNonNull(provider, "provider");
        return new Redlock(
                nodes.stream()
                        .map(node -> new RedlockUri.Node(
                                node.server().credentials(provider), node.name(), node.durable(), node.lifeCheck()))
                        .toList(),
                settings);
    }

    /**
     * Opens the store and checks that a quorum of its nodes answers.
     *
     * @throws IllegalArgumentException if these nodes and durations cannot form a set; the message shows the arithmetic
     * @throws io.leasehold.LockStoreException if no quorum can be reached, or if a node refuses or does not have the
     *     declared properties
     */
    public LockStore open(LockRuntime runtime) {
        return RedlockOpening.open(nodes, settings, runtime);
    }

    /** The servers for messages, without users and passwords. */
    @Override
    public String toString() {
        return "Redlock" + nodes.stream().map(RedlockUri.Node::name).toList();
    }
}

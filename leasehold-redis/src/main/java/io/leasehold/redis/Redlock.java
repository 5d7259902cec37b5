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
 * A set of independent Redis servers, of which a quorum decides: the builder behind {@code redlock:} URIs. Immutable.
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
     * A set of these servers, named by their {@code redis://} URIs. With {@code durable=true} in a URI the server is said
     * to keep every acknowledged write over a restart; with {@code name=…} all clients know it by that name, whichever way
     * they reach it.
     *
     * @throws IllegalArgumentException if a URI is malformed; secrets are not repeated
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

    /** The largest ttl of any client of this set, the same for all: 30 s unless set. */
    public Redlock maxTtl(Duration maxTtl) {
        return new Redlock(nodes, settings.maxTtl(maxTtl));
    }

    /** How long a round waits for a server that does not answer: clamp(ttl/200, 5 ms, 50 ms) unless set. */
    public Redlock nodeTimeout(Duration nodeTimeout) {
        return new Redlock(nodes, settings.nodeTimeout(nodeTimeout));
    }

    /**
     * With credentials that the provider is asked for at every connection to any of the servers; it is asked for each server apart.
     *
     * @throws IllegalArgumentException if the URI of a server names a password itself
     */
    public Redlock credentials(CredentialsProvider provider) {
        Objects.requireNonNull(provider, "provider");
        return new Redlock(
                nodes.stream()
                        .map(node ->
                                new RedlockUri.Node(node.server().credentials(provider), node.name(), node.durable()))
                        .toList(),
                settings);
    }

    /**
     * Opens the store, and makes sure that a quorum of its nodes answers.
     *
     * @throws IllegalArgumentException if nodes and spans make no set; the message has the arithmetic
     * @throws io.leasehold.LockStoreException if no quorum can be reached, or a node refuses or is not what it is said to be
     */
    public LockStore open(LockRuntime runtime) {
        return RedlockOpening.open(nodes, settings, runtime);
    }

    /** The servers as people would name them: without users and passwords. */
    @Override
    public String toString() {
        return "Redlock" + nodes.stream().map(RedlockUri.Node::name).toList();
    }
}

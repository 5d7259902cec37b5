package io.leasehold.redis.topology;

import io.leasehold.CredentialsProvider;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.StoreAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A deployment, as a store URI names it: one server, or several servers that form one store.
 *
 * <pre>
 * redis://[[user]:password@]host[:port][/database]
 * redis-replicated://[[user]:password@]master[:port],replica[:port],…[/database]
 * redis-sentinel://[[user]:password@]sentinel[:port],…/master-name[/database]     or …[/database]#master-name
 * redis-cluster://[[user]:password@]node[:port],…
 * </pre>
 *
 * each with {@code rediss…} or {@code ?tls=true} for TLS. User and password are for the data servers; for Sentinels set
 * {@code sentinelUser}, {@code sentinelPassword} and {@code sentinelTls}. Immutable; no method shows a secret in a
 * text.
 */
public final class Deployment {

    /** The relation of the servers to each other. */
    public enum Kind {
        /** One server. */
        SINGLE("redis", 6379),
        /** A fixed master and its replicas. */
        REPLICATED("redis-replicated", 6379),
        /** A master that Sentinels name. */
        SENTINEL("redis-sentinel", 26_379),
        /** Masters that share the slots. */
        CLUSTER("redis-cluster", 6379);

        private final String scheme;
        private final int defaultPort;

        Kind(String scheme, int defaultPort) {
            this.scheme = scheme;
            this.defaultPort = defaultPort;
        }

        private String secureScheme() {
            return "rediss" + scheme.substring("redis".length());
        }

        private String pattern() {
            return switch (this) {
                case SENTINEL -> scheme + "://[[user]:password@]sentinel[:port],…/master-name[/database]";
                case CLUSTER -> scheme + "://[[user]:password@]node[:port],…";
                default -> scheme + "://[[user]:password@]master[:port],replica[:port],…[/database]";
            };
        }

        private StoreAddress.Form form() {
            List<String> options = new ArrayList<>(RedisUri.OPTIONS);
            if (this == SENTINEL) {
                options.addAll(List.of("sentinelUser", "sentinelPassword", "sentinelTls"));
            }
            return new StoreAddress.Form(pattern(), defaultPort, options, true);
        }
    }

    /** The additional rights for a Cluster. */
    public static final String RIGHTS_IN_CLUSTER =
            " +cluster|slots +cluster|info +asking +spublish +ssubscribe +sunsubscribe";

    /** The additional rights for {@code toldAtOnce}. */
    public static final String RIGHTS_TO_BE_TOLD = " +client|tracking";

    private static final String TOLD_BY_ONE_MASTER = "toldAtOnce is for deployments with one master";

    private final Kind kind;
    private final List<RedisUri> servers;
    private final RedisUri data;
    private final @Nullable String masterName;
    private final @Nullable CredentialsProvider credentials;
    private final @Nullable Supplier<RedisUri> namingClient;

    private Deployment(Kind kind, List<RedisUri> servers, RedisUri data, @Nullable String masterName) {
        this(kind, servers, data, masterName, null, null);
    }

    private Deployment(
            Kind kind,
            List<RedisUri> servers,
            RedisUri data,
            @Nullable String masterName,
            @Nullable CredentialsProvider credentials,
            @Nullable Supplier<RedisUri> namingClient) {
        this.credentials = credentials;
        this.namingClient = namingClient;
        this.kind = kind;
        this.servers = List.copyOf(servers);
        this.data = data;
        this.masterName = masterName;
    }

    /** Every scheme that names a deployment, in lower case. */
    public static Set<String> schemes() {
        return java.util.Arrays.stream(Kind.values())
                .flatMap(kind -> java.util.stream.Stream.of(kind.scheme, kind.secureScheme()))
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if the URI is malformed or has an unknown option; the message repeats no secrets
     */
    public static Deployment parse(StoreUri uri) {
        for (Kind kind : Kind.values()) {
            if (uri.scheme().equals(kind.scheme) || uri.scheme().equals(kind.secureScheme())) {
                if (kind == Kind.SINGLE) {
                    RedisUri server = RedisUri.parse(uri);
                    return new Deployment(kind, List.of(server), server, null);
                }
                return read(uri, kind);
            }
        }
        throw new IllegalArgumentException("store URI \"" + uri.redacted() + "\": the scheme must be one of "
                + schemes().stream().sorted().collect(Collectors.joining(", ")));
    }

    /** A deployment of one server that is not named by a store URI. */
    public static Deployment of(RedisUri server) {
        return new Deployment(Kind.SINGLE, List.of(server), server, null);
    }

    /**
     * A Cluster whose nodes are named in the driver's own form. As in the driver, the first node names the credentials
     * and settings of all.
     */
    public static Deployment ofCluster(List<RedisUri> nodes) {
        for (RedisUri node : nodes) {
            if (node.database() != 0) {
                throw new IllegalArgumentException(
                        "the RedisURI " + node + " names a database, and a Cluster has only one: leave it out");
            }
        }
        RedisUri first = nodes.get(0);
        List<RedisUri> alike =
                nodes.stream().map(node -> first.at(node.host(), node.port())).toList();
        return new Deployment(Kind.CLUSTER, alike, first, null);
    }

    /**
     * A master that a client library names, since the library learns it from Sentinels.
     *
     * @param client returns the current master and never blocks
     */
    public static Deployment named(Supplier<RedisUri> client) {
        RedisUri first = client.get();
        return new Deployment(Kind.SENTINEL, List.of(first), first, null, null, client);
    }

    /** The function that names the master in place of the Sentinels, or null. */
    @Nullable
    Supplier<RedisUri> namingClient() {
        return namingClient;
    }

    /** The same deployment with another key layout. */
    public Deployment keys(KeyLayout layout) {
        return new Deployment(
                kind,
                kind == Kind.SENTINEL
                        ? servers
                        : servers.stream().map(server -> server.keys(layout)).toList(),
                data.keys(layout),
                masterName,
                credentials,
                namingClient);
    }

    /**
     * The same deployment, whose server notifies the client when the key of a hold changes.
     *
     * @throws IllegalArgumentException if the deployment is a Cluster
     */
    public Deployment toldAtOnce() {
        if (kind == Kind.CLUSTER) {
            throw new IllegalArgumentException(TOLD_BY_ONE_MASTER);
        }
        return new Deployment(
                kind,
                kind == Kind.SENTINEL
                        ? servers
                        : servers.stream().map(RedisUri::toldAtOnce).toList(),
                data.toldAtOnce(),
                masterName,
                credentials,
                namingClient);
    }

    /**
     * The same deployment, which asks the provider for the credentials of each connection to a data server. Sentinels
     * keep those of their URI.
     *
     * @throws IllegalArgumentException if the URI itself names credentials
     */
    public Deployment credentials(CredentialsProvider provider) {
        if (data.hasPassword()) {
            throw new IllegalArgumentException("the store URI of " + this
                    + " names a password, but a credentials provider is also set: remove the user and password from the"
                    + " URI, or remove the provider");
        }
        return new Deployment(
                kind,
                kind == Kind.SENTINEL
                        ? servers
                        : servers.stream().map(RedisUri::askingForLogin).toList(),
                data.askingForLogin(),
                masterName,
                provider,
                namingClient);
    }

    /** The provider of the data servers' credentials, or null if the URI names the credentials or none are needed. */
    @Nullable
    CredentialsProvider credentials() {
        return credentials;
    }

    /**
     * Whether clients of both may share their connections: the same servers with the same settings of connections. The
     * key layouts do not matter.
     */
    boolean connectsLike(Deployment other) {
        boolean alike = kind == other.kind
                && servers.size() == other.servers.size()
                && data.connectsLike(other.data)
                && Objects.equals(masterName, other.masterName)
                && namingClient == null
                && other.namingClient == null;
        for (int i = 0; alike && i < servers.size(); i++) {
            alike = servers.get(i).connectsLike(other.servers.get(i));
        }
        return alike;
    }

    /** Whether clients of both lists, in their order, may share their connections. */
    static boolean connectLike(List<Deployment> some, List<Deployment> others) {
        boolean alike = some.size() == others.size();
        for (int i = 0; alike && i < some.size(); i++) {
            alike = some.get(i).connectsLike(others.get(i));
        }
        return alike;
    }

    /** Creates the errors of its data servers. */
    public RedisErrors errors() {
        RedisErrors errors = new RedisErrors(toString(), rights(), keys());
        return credentials == null ? errors : errors.withProvider();
    }

    /** The key layout of the locks. */
    public KeyLayout keys() {
        return data.keys();
    }

    private static Deployment read(StoreUri uri, Kind kind) {
        String text = uri.text();
        int hash = kind == Kind.SENTINEL ? text.lastIndexOf('#') : -1;
        // If an @ follows the #, the # is part of a password. The text after it is not a name and must not be shown as
        // one.
        String fragment = hash < 0 || text.indexOf('@', hash) >= 0 ? null : text.substring(hash + 1);
        StoreAddress address =
                StoreAddress.parse(fragment == null ? uri : StoreUri.parse(text.substring(0, hash)), kind.form());
        boolean tls = RedisUri.tls(address, uri.scheme().equals(kind.secureScheme()));
        List<String> duplicates = new ArrayList<>(address.servers());
        Set.copyOf(duplicates).forEach(duplicates::remove);
        if (!duplicates.isEmpty()) {
            throw address.refused(duplicates.get(0) + " is named twice");
        }
        String path = address.path();
        if (kind == Kind.SENTINEL) {
            return sentinel(uri, address, fragment, path, tls);
        }
        if (kind == Kind.CLUSTER && !path.isEmpty() && !path.equals("0")) {
            throw address.refused("a Cluster has one database; leave out /" + path);
        }
        if (kind == Kind.CLUSTER && address.has("toldAtOnce")) {
            throw address.refused(TOLD_BY_ONE_MASTER + "; leave it out");
        }
        List<RedisUri> servers = address.servers().stream()
                .map(server -> RedisUri.of(address, server, path, tls))
                .toList();
        return new Deployment(kind, servers, servers.get(0), null);
    }

    private static Deployment sentinel(
            StoreUri uri, StoreAddress address, @Nullable String fragment, String path, boolean tls) {
        int slash = path.indexOf('/');
        String name = fragment != null ? fragment : slash < 0 ? path : path.substring(0, slash);
        String database = fragment != null ? path : slash < 0 ? "" : path.substring(slash + 1);
        if (name.isBlank()) {
            throw address.refused("the name of the master is missing; write " + Kind.SENTINEL.pattern());
        }
        RedisUri data = RedisUri.of(address, "master-named-by-sentinels:" + Kind.SENTINEL.defaultPort, database, tls);
        boolean sentinelTls = address.has("sentinelTls") ? address.flag("sentinelTls") : tls;
        List<RedisUri> sentinels = address.servers().stream()
                .map(server -> RedisUri.ofSentinel(address, server, sentinelTls))
                .toList();
        return new Deployment(Kind.SENTINEL, sentinels, data, StoreAddress.decoded(uri, name, "master's name"));
    }

    /** The relation of the servers to each other. */
    public Kind kind() {
        return kind;
    }

    /** The named servers: the Sentinels, if the deployment has Sentinels. */
    List<RedisUri> servers() {
        return servers;
    }

    /** The credentials and settings of the data servers. */
    RedisUri data() {
        return data;
    }

    /** The name by which the Sentinels know the master; empty without Sentinels. */
    String masterName() {
        return masterName == null ? "" : masterName;
    }

    /** The rights that Leasehold needs at the data servers, to paste after {@code ACL SETUSER name}. */
    public String rights() {
        return RedisErrors.rights(keys())
                + (kind == Kind.CLUSTER ? RIGHTS_IN_CLUSTER : "")
                + (acknowledgement().isWanted() ? " +wait" : "")
                + (isToldAtOnce() ? RIGHTS_TO_BE_TOLD : "");
    }

    /** The required acknowledgement of an acquire by replicas. */
    public Acknowledgement acknowledgement() {
        return data.acknowledgement();
    }

    /** Whether the server notifies the client when the key of a hold changes. */
    public boolean isToldAtOnce() {
        return data.isToldAtOnce();
    }

    /** The deployment for messages, without user and password. */
    @Override
    public String toString() {
        return (data.tls() ? kind.secureScheme() : kind.scheme)
                + "://"
                + servers.stream().map(RedisUri::address).collect(Collectors.joining(","))
                + (masterName == null ? "" : "/" + masterName)
                + (data.database() == 0 ? "" : "/" + data.database());
    }
}

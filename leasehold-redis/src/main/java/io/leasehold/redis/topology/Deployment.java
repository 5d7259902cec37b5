package io.leasehold.redis.topology;

import io.leasehold.CredentialsProvider;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.StoreUri;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a store URI names: one server, or several that are one store.
 *
 * <pre>
 * redis://[[user]:password@]host[:port][/database]
 * redis-replicated://[[user]:password@]master[:port],replica[:port],…[/database]
 * redis-sentinel://[[user]:password@]sentinel[:port],…/master-name[/database]     or …[/database]#master-name
 * redis-cluster://[[user]:password@]node[:port],…
 * </pre>
 *
 * each with {@code rediss…} or {@code ?tls=true} for TLS. User and password are those of the data servers; Sentinels have
 * {@code sentinelUser}, {@code sentinelPassword} and {@code sentinelTls} of their own. Immutable; nothing of it shows a secret.
 */
public final class Deployment {

    /** How its servers belong together. */
    public enum Kind {
        /** One server. */
        SINGLE("redis", 6379),
        /** A master that is always the same, and its replicas. */
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
    }

    /** What a Cluster needs besides. */
    public static final String RIGHTS_IN_CLUSTER =
            " +cluster|slots +cluster|info +asking +spublish +ssubscribe +sunsubscribe";

    private static final Set<String> OF_SENTINELS = Set.of("sentinelUser", "sentinelPassword", "sentinelTls");

    private final Kind kind;
    private final List<RedisUri> servers;
    private final RedisUri data;
    private final @Nullable String masterName;
    private final @Nullable CredentialsProvider credentials;

    private Deployment(Kind kind, List<RedisUri> servers, RedisUri data, @Nullable String masterName) {
        this(kind, servers, data, masterName, null);
    }

    private Deployment(
            Kind kind,
            List<RedisUri> servers,
            RedisUri data,
            @Nullable String masterName,
            @Nullable CredentialsProvider credentials) {
        this.credentials = credentials;
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
     * @throws IllegalArgumentException if it is malformed or has an unknown parameter; secrets are not repeated
     */
    public static Deployment parse(StoreUri uri) {
        for (Kind kind : Kind.values()) {
            if (uri.scheme().equals(kind.scheme) || uri.scheme().equals(kind.secureScheme())) {
                if (kind == Kind.SINGLE) {
                    RedisUri server = RedisUri.parse(uri);
                    return new Deployment(kind, List.of(server), server, null);
                }
                try {
                    return new Reader(uri, kind).read();
                } catch (IllegalArgumentException e) {
                    throw RedisUri.withoutSecrets(uri, e);
                }
            }
        }
        throw new IllegalArgumentException("store URI \"" + uri.redacted() + "\": the scheme must be one of "
                + schemes().stream().sorted().collect(Collectors.joining(", ")));
    }

    /** One server that is named in another form than by a store URI. */
    public static Deployment of(RedisUri server) {
        return new Deployment(Kind.SINGLE, List.of(server), server, null);
    }

    /**
     * A Cluster whose nodes are named in the driver's own form; as in the driver, the first names the credentials and settings
     * of all.
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

    /** The same with the locks elsewhere. */
    public Deployment keys(KeyLayout layout) {
        return new Deployment(
                kind,
                kind == Kind.SENTINEL
                        ? servers
                        : servers.stream().map(server -> server.keys(layout)).toList(),
                data.keys(layout),
                masterName,
                credentials);
    }

    /**
     * The same with credentials that the provider is asked for, at each connection to a data server; Sentinels keep those of their URI.
     *
     * @throws IllegalArgumentException if the URI names some itself
     */
    public Deployment credentials(CredentialsProvider provider) {
        if (data.hasPassword()) {
            throw new IllegalArgumentException("the store URI of " + this
                    + " names a password, and a credentials provider is set: decide; leave what stands before @ out");
        }
        return new Deployment(
                kind,
                kind == Kind.SENTINEL
                        ? servers
                        : servers.stream().map(RedisUri::askingForLogin).toList(),
                data.askingForLogin(),
                masterName,
                provider);
    }

    /** The provider of the data servers' credentials, or null if their URI names them, or there are none. */
    @Nullable
    CredentialsProvider credentials() {
        return credentials;
    }

    /** The errors of its data servers. */
    public RedisErrors errors() {
        RedisErrors errors = new RedisErrors(toString(), rights(), keys());
        return credentials == null ? errors : errors.withProvider();
    }

    /** Where the locks are. */
    public KeyLayout keys() {
        return data.keys();
    }

    /** Takes one URI apart, and has each server's part read as the URI of a single one. */
    private record Reader(StoreUri uri, Kind kind) {

        IllegalArgumentException refused(String rule) {
            return new IllegalArgumentException("store URI \"" + uri.redacted() + "\": " + rule);
        }

        Deployment read() {
            String rest = uri.rest();
            if (!rest.startsWith("//")) {
                throw refused("the scheme must be followed by //; write " + form());
            }
            int hash = rest.lastIndexOf('#');
            String fragment = hash < 0 ? null : rest.substring(hash + 1);
            String whole = hash < 0 ? rest : rest.substring(0, hash);
            if (fragment != null && kind != Kind.SENTINEL) {
                throw refused("a fragment (#…) has no meaning here; write # in a password as %23");
            }
            if (fragment != null && fragment.indexOf('@') >= 0) {
                // A password with a # in it: what follows is no name, and must not be shown as one.
                throw refused("the name of the master has an @ in it; write # in a password as %23, and @ in a name as %40");
            }
            int question = whole.indexOf('?');
            String main = question < 0 ? whole.substring(2) : whole.substring(2, question);
            Map<String, String> ofSentinels = new TreeMap<>();
            String query = query(question < 0 ? "" : whole.substring(question + 1), ofSentinels);
            int at = main.lastIndexOf('@');
            String userInfo = main.substring(0, at + 1);
            String places = main.substring(at + 1);
            int slash = places.indexOf('/');
            String path = slash < 0 ? "" : places.substring(slash + 1);
            String[] addresses = (slash < 0 ? places : places.substring(0, slash)).split(",", -1);
            return switch (kind) {
                case SENTINEL -> sentinel(userInfo, addresses, path, fragment, query, ofSentinels);
                case CLUSTER -> {
                    if (!path.isEmpty() && !path.equals("0")) {
                        throw refused("a Cluster has one database; leave out /" + path);
                    }
                    yield servers(userInfo, addresses, "", query);
                }
                default -> servers(userInfo, addresses, path, query);
            };
        }

        /** What is for the servers; the rest is put aside. */
        private String query(String text, Map<String, String> ofSentinels) {
            List<String> kept = new ArrayList<>();
            for (String pair : text.split("&", -1)) {
                int equals = pair.indexOf('=');
                String name = equals < 0 ? pair : pair.substring(0, equals);
                if (kind == Kind.SENTINEL && OF_SENTINELS.contains(name)) {
                    if (ofSentinels.put(name, equals < 0 ? "" : pair.substring(equals + 1)) != null) {
                        throw refused("parameter \"" + name + "\" is given twice");
                    }
                } else if (!pair.isEmpty()) {
                    kept.add(pair);
                }
            }
            return String.join("&", kept);
        }

        private Deployment servers(String userInfo, String[] addresses, String path, String query) {
            List<RedisUri> servers = new ArrayList<>();
            for (String address : addresses) {
                servers.add(server(secure(), userInfo, address, path, query));
            }
            refuseDuplicates(servers);
            return new Deployment(kind, servers, servers.get(0), null);
        }

        private Deployment sentinel(
                String userInfo,
                String[] addresses,
                String path,
                @Nullable String fragment,
                String query,
                Map<String, String> ofSentinels) {
            int slash = path.indexOf('/');
            String name = fragment != null ? fragment : slash < 0 ? path : path.substring(0, slash);
            String database = fragment != null ? path : slash < 0 ? "" : path.substring(slash + 1);
            if (name.isBlank()) {
                throw refused("the name of the master is missing; write " + form());
            }
            RedisUri data = server(secure(), userInfo, "master-named-by-sentinels", database, query);
            String user = ofSentinels.getOrDefault("sentinelUser", "");
            String password = ofSentinels.get("sentinelPassword");
            if (password == null && !user.isEmpty()) {
                throw refused("sentinelUser needs sentinelPassword beside it");
            }
            boolean tls = sentinelTls(ofSentinels.get("sentinelTls"), data.tls());
            String credentials = password == null ? "" : user + ":" + password + "@";
            List<RedisUri> sentinels = new ArrayList<>();
            for (String address : addresses) {
                sentinels.add(server(tls, credentials, address, "", tls ? onlyCertificates(query) : ""));
            }
            refuseDuplicates(sentinels);
            return new Deployment(kind, sentinels, data, decoded(name));
        }

        private boolean sentinelTls(@Nullable String value, boolean otherwise) {
            if (value != null && !value.equals("true") && !value.equals("false")) {
                throw refused("sentinelTls=" + value + " must be true or false");
            }
            return value == null ? otherwise : value.equals("true");
        }

        private static String onlyCertificates(String query) {
            return java.util.Arrays.stream(query.split("&", -1))
                    .filter(pair -> pair.startsWith("ca="))
                    .collect(Collectors.joining("&"));
        }

        private boolean secure() {
            return uri.scheme().equals(kind.secureScheme());
        }

        private RedisUri server(boolean secure, String userInfo, String address, String path, String query) {
            boolean hasPort = address.lastIndexOf(':') > address.lastIndexOf(']');
            String text = (secure ? "rediss://" : "redis://")
                    + userInfo
                    + address
                    + (hasPort || address.isEmpty() ? "" : ":" + kind.defaultPort)
                    + (path.isEmpty() ? "" : "/" + path)
                    + (query.isEmpty() ? "" : "?" + query);
            try {
                return RedisUri.parse(StoreUri.parse(text));
            } catch (IllegalArgumentException e) {
                // Names the URI that was written, not the one made from it.
                String message = String.valueOf(e.getMessage());
                int rule = message.indexOf("\": ");
                throw refused(
                        (rule < 0 ? message : message.substring(rule + 3)).replaceAll("write redis://.*", form()));
            }
        }

        private void refuseDuplicates(List<RedisUri> servers) {
            Set<String> seen = new java.util.HashSet<>();
            for (RedisUri server : servers) {
                if (!seen.add(server.address())) {
                    throw refused(server.address() + " is named twice");
                }
            }
        }

        private String decoded(String text) {
            try {
                return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
            } catch (IllegalArgumentException e) {
                throw refused("the master's name has a % that is not followed by two hexadecimal digits");
            }
        }

        private String form() {
            return switch (kind) {
                case SENTINEL -> kind.scheme + "://[[user]:password@]sentinel[:port],…/master-name[/database]";
                case CLUSTER -> kind.scheme + "://[[user]:password@]node[:port],…";
                default -> kind.scheme + "://[[user]:password@]master[:port],replica[:port],…[/database]";
            };
        }
    }

    /** How its servers belong together. */
    public Kind kind() {
        return kind;
    }

    /** The servers that are named, Sentinels where there are some. */
    List<RedisUri> servers() {
        return servers;
    }

    /** Credentials and settings of the data servers. */
    RedisUri data() {
        return data;
    }

    /** By which name the Sentinels know the master; empty where there are none. */
    String masterName() {
        return masterName == null ? "" : masterName;
    }

    /** The rights that Leasehold needs at the data servers, to be pasted after {@code ACL SETUSER name}. */
    public String rights() {
        return RedisErrors.rights(keys())
                + (kind == Kind.CLUSTER ? RIGHTS_IN_CLUSTER : "")
                + (acknowledgement().isWanted() ? " +wait" : "");
    }

    /** By how many replicas an acquire is to be acknowledged. */
    public Acknowledgement acknowledgement() {
        return data.acknowledgement();
    }

    /** As people would name it: without user and password. */
    @Override
    public String toString() {
        return (data.tls() ? kind.secureScheme() : kind.scheme)
                + "://"
                + servers.stream().map(RedisUri::address).collect(Collectors.joining(","))
                + (masterName == null ? "" : "/" + masterName)
                + (data.database() == 0 ? "" : "/" + data.database());
    }
}

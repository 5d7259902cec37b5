package io.leasehold.redis.topology;

import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.StoreAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The URI of one server: {@code redis://[[user]:password@]host[:port][/database][?tls=true][&ca=FILE][&keys=TEMPLATE]
 * [&waitReplicas=1&waitTimeout=100ms][&toldAtOnce=true]},
 * {@code rediss://} for TLS.
 *
 * <p>User, password and file are percent-decoded. Neither messages nor {@link #toString()} show user or password.
 */
public final class RedisUri {

    /** The options that every form of URI may name. */
    static final List<String> OPTIONS = List.of("tls", "ca", "keys", "waitReplicas", "waitTimeout", "toldAtOnce");

    private static final int MAX_DATABASES = 1 << 20;
    private static final String PATTERN = "redis://[[user]:password@]host[:port][/database]";
    private static final StoreAddress.Form FORM = new StoreAddress.Form(PATTERN, 6379, OPTIONS, true);

    private final String host;
    private final int port;
    private final int database;
    private final boolean tls;
    private final @Nullable String certificates;
    private final @Nullable String user;
    private final char @Nullable [] password;
    private final KeyLayout keys;
    /** The server in the form of the application's client library, or null. */
    private final @Nullable Object given;

    private final Acknowledgement acknowledgement;

    /** Whether the server notifies the client when the key of a hold changes. */
    private final boolean toldAtOnce;

    /** Whether a provider supplies the login in place of this URI. */
    private final boolean asksForLogin;

    private RedisUri(
            @Nullable Object given,
            String host,
            int port,
            @Nullable String user,
            char @Nullable [] password,
            int database,
            boolean tls,
            @Nullable String certificates,
            KeyLayout keys,
            Acknowledgement acknowledgement,
            boolean toldAtOnce,
            boolean asksForLogin) {
        this.asksForLogin = asksForLogin;
        this.toldAtOnce = toldAtOnce;
        this.keys = keys;
        this.given = given;
        this.host = host;
        this.port = port;
        this.user = user;
        this.password = password;
        this.database = database;
        this.tls = tls;
        this.certificates = certificates;
        this.acknowledgement = acknowledgement;
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if the URI is malformed or has an unknown option; the message repeats no secrets
     */
    public static RedisUri parse(StoreUri uri) {
        StoreAddress address = StoreAddress.parse(uri, FORM);
        if (address.servers().size() > 1) {
            throw address.refused("a list is no host; write " + PATTERN);
        }
        return of(
                address,
                address.servers().get(0),
                address.path(),
                tls(address, uri.scheme().equals("rediss")));
    }

    /** Whether a URI requests TLS by its scheme or by an option. */
    static boolean tls(StoreAddress address, boolean secureScheme) {
        boolean tls = address.has("tls") ? address.flag("tls") : secureScheme;
        if (secureScheme && !tls) {
            throw address.refused("rediss:// means TLS and tls=false means none; decide");
        }
        return tls;
    }

    /**
     * Reads a data server of an address.
     *
     * @param server host and port of the server
     */
    static RedisUri of(StoreAddress address, String server, String database, boolean tls) {
        String certificates = address.option("ca");
        if (certificates != null && !tls) {
            throw address.refused("ca=" + certificates + " is for TLS; write rediss:// or add tls=true");
        }
        if (!database.isEmpty() && !(database.matches("[0-9]{1,9}") && Integer.parseInt(database) <= MAX_DATABASES)) {
            throw address.refused("database \"" + database + "\" must be a number from 0 to " + MAX_DATABASES);
        }
        String template = address.option("keys");
        try {
            return named(
                    server,
                    address.user(),
                    address.password(),
                    database.isEmpty() ? 0 : Integer.parseInt(database),
                    tls,
                    certificates,
                    template == null ? KeyLayout.standard() : KeyLayout.of(template),
                    Acknowledgement.parse(address.option("waitReplicas"), address.option("waitTimeout")),
                    address.has("toldAtOnce") && address.flag("toldAtOnce"));
        } catch (IllegalArgumentException e) {
            throw address.refused(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Reads a Sentinel of an address. It has its own credentials; of the settings of the data servers it has only the
     * certificates.
     */
    static RedisUri ofSentinel(StoreAddress address, String server, boolean tls) {
        String user = address.option("sentinelUser");
        boolean anybody = user == null || user.isEmpty();
        String password = address.option("sentinelPassword");
        if (password == null && !anybody) {
            throw address.refused("sentinelUser needs sentinelPassword as well");
        }
        if (password != null && password.isEmpty()) {
            throw address.refused("sentinelPassword= needs a password");
        }
        return named(
                server,
                anybody ? null : user,
                password,
                0,
                tls,
                tls ? address.option("ca") : null,
                KeyLayout.standard(),
                Acknowledgement.NONE,
                false);
    }

    private static RedisUri named(
            String server,
            @Nullable String user,
            @Nullable String password,
            int database,
            boolean tls,
            @Nullable String certificates,
            KeyLayout keys,
            Acknowledgement acknowledgement,
            boolean toldAtOnce) {
        int colon = server.lastIndexOf(':');
        String host = server.substring(0, colon);
        return new RedisUri(
                null,
                host.startsWith("[") ? host.substring(1, host.length() - 1) : host,
                Integer.parseInt(server.substring(colon + 1)),
                user,
                password == null ? null : password.toCharArray(),
                database,
                tls,
                certificates,
                keys,
                acknowledgement,
                toldAtOnce,
                false);
    }

    /**
     * Creates the URI of a server that a client library names in its own form, which also holds the credentials.
     *
     * @param given that form
     */
    public static RedisUri given(Object given, String host, int port, int database, boolean tls, KeyLayout keys) {
        return new RedisUri(
                given, host, port, null, null, database, tls, null, keys, Acknowledgement.NONE, false, false);
    }

    /** The same server with another key layout. */
    RedisUri keys(KeyLayout layout) {
        return changed(host, port, layout, toldAtOnce, asksForLogin);
    }

    /** Another server of the same deployment: another address with the same credentials and settings. */
    RedisUri at(String otherHost, int otherPort) {
        return changed(otherHost, otherPort, keys, toldAtOnce, asksForLogin);
    }

    /** The same server with a provider that supplies the login of each connection. */
    RedisUri askingForLogin() {
        return changed(host, port, keys, toldAtOnce, true);
    }

    /** The same server, which notifies the client when the key of a hold changes. */
    RedisUri toldAtOnce() {
        return changed(host, port, keys, true, asksForLogin);
    }

    /**
     * Whether a connection to this server may also serve a client that names the other: the same address, login, TLS
     * and other settings of connections. The key layout does not matter. False if a provider supplies the logins or if
     * the URI is in the application's own form, since these cannot be compared.
     */
    boolean connectsLike(RedisUri other) {
        return given == null
                && other.given == null
                && !asksForLogin
                && !other.asksForLogin
                && host.equals(other.host)
                && port == other.port
                && Objects.equals(user, other.user)
                && Arrays.equals(password, other.password)
                && database == other.database
                && tls == other.tls
                && Objects.equals(certificates, other.certificates)
                && acknowledgement.equals(other.acknowledgement)
                && toldAtOnce == other.toldAtOnce;
    }

    /** Whether a provider supplies the login of each connection. */
    public boolean asksForLogin() {
        return asksForLogin;
    }

    private RedisUri changed(String newHost, int newPort, KeyLayout layout, boolean told, boolean asks) {
        return new RedisUri(
                given,
                newHost,
                newPort,
                user,
                password,
                database,
                tls,
                certificates,
                layout,
                acknowledgement,
                told,
                asks);
    }

    /**
     * The form in which the application's client library names this server or another one of the deployment; null for a
     * store URI.
     */
    public @Nullable Object given() {
        return given;
    }

    /** The user of the store URI, or null. */
    public @Nullable String user() {
        return user;
    }

    /** The password of the store URI, or null. */
    public char @Nullable [] password() {
        return password == null ? null : password.clone();
    }

    /** Whether the URI names a password. A login in the driver's own form does not count as one. */
    boolean hasPassword() {
        return password != null;
    }

    /** The file of trusted certificates, or null for those of the platform. */
    public @Nullable String certificates() {
        return certificates;
    }

    /** The key layout of the locks. */
    public KeyLayout keys() {
        return keys;
    }

    /** The required acknowledgement of an acquire by replicas. */
    public Acknowledgement acknowledgement() {
        return acknowledgement;
    }

    /** Whether the server notifies the client when the key of a hold changes. */
    boolean isToldAtOnce() {
        return toldAtOnce;
    }

    /** The host without the port. */
    public String host() {
        return host;
    }

    /** The port. */
    public int port() {
        return port;
    }

    /** The database, 0 by default. */
    public int database() {
        return database;
    }

    /** Whether connections use TLS. */
    public boolean tls() {
        return tls;
    }

    /** {@code host:port}. */
    public String address() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }

    /** The server for messages, without user and password. */
    @Override
    public String toString() {
        return (tls ? "rediss://" : "redis://") + address() + (database == 0 ? "" : "/" + database);
    }
}

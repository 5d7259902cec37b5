package io.leasehold.redis.topology;

import io.leasehold.Credentials;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.RedisURI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The URI of one server: {@code redis://[[user]:password@]host[:port][/database][?tls=true][&ca=FILE][&keys=TEMPLATE]
 * [&waitReplicas=1&waitTimeout=100ms]},
 * {@code rediss://} for TLS.
 *
 * <p>User, password and file are percent-decoded. Neither messages nor {@link #toString()} show user or password.
 */
public final class RedisUri {

    private static final int DEFAULT_PORT = 6379;
    private static final int MAX_DATABASES = 1 << 20;
    private static final Set<String> PARAMETERS =
            new TreeSet<>(Set.of("tls", "ca", "keys", "waitReplicas", "waitTimeout"));
    private static final Pattern CUT = Pattern.compile("(?s)[?#].*@");
    private static final String FORM = "redis://[[user]:password@]host[:port][/database]";

    private final String host;
    private final int port;
    private final int database;
    private final boolean tls;
    private final @Nullable String certificates;
    private final @Nullable String user;
    private final char @Nullable [] password;
    private final KeyLayout keys;
    private final @Nullable RedisURI given;

    private final Acknowledgement acknowledgement;

    /** Whether a provider is asked for the login, in place of what is named here. */
    private final boolean asksForLogin;

    private RedisUri(RedisURI given, KeyLayout keys, boolean asksForLogin) {
        this.asksForLogin = asksForLogin;
        this.host = given.getHost();
        this.port = given.getPort();
        this.user = null;
        this.password = null;
        this.database = given.getDatabase();
        this.tls = given.isSsl();
        this.certificates = null;
        this.keys = keys;
        this.given = given;
        this.acknowledgement = Acknowledgement.parse(null, null);
    }

    private RedisUri(
            Authority authority,
            int database,
            boolean tls,
            @Nullable String certificates,
            KeyLayout keys,
            Acknowledgement acknowledgement,
            boolean asksForLogin) {
        this.asksForLogin = asksForLogin;
        this.keys = keys;
        this.given = null;
        this.host = authority.host;
        this.port = authority.port;
        this.user = authority.user;
        this.password = authority.password;
        this.database = database;
        this.tls = tls;
        this.certificates = certificates;
        this.acknowledgement = acknowledgement;
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if it is malformed or has an unknown parameter; secrets are not repeated
     */
    public static RedisUri parse(StoreUri uri) {
        try {
            return read(uri);
        } catch (IllegalArgumentException e) {
            throw withoutSecrets(uri, e);
        }
    }

    /** An @ behind a ? or a # may end a password that has one of these in it: then no part of it is repeated. */
    static IllegalArgumentException withoutSecrets(StoreUri uri, IllegalArgumentException error) {
        return CUT.matcher(uri.rest()).find()
                ? new IllegalArgumentException("store URI \"" + uri.redacted()
                        + "\": it cannot be read, and an @ stands behind a ? or a #; write ? and # in a password as %3F and"
                        + " %23, and @ in a parameter as %40")
                : error;
    }

    private static RedisUri read(StoreUri uri) {
        Parser parser = new Parser(uri);
        String rest = uri.rest();
        if (!rest.startsWith("//")) {
            throw parser.refused("the scheme must be followed by //; write " + FORM);
        }
        if (rest.indexOf('#') >= 0) {
            throw parser.refused("a fragment (#…) has no meaning here; write # in a password as %23");
        }
        int question = rest.indexOf('?');
        Map<String, String> parameters = parser.parameters(question < 0 ? "" : rest.substring(question + 1));
        String main = question < 0 ? rest.substring(2) : rest.substring(2, question);
        int slash = main.indexOf('/', Math.max(0, main.lastIndexOf('@')));
        Authority authority = parser.authority(slash < 0 ? main : main.substring(0, slash));
        int database = parser.database(slash < 0 ? "" : main.substring(slash + 1));
        boolean tls = parser.tls(parameters.get("tls"));
        String certificates = parameters.get("ca");
        if (certificates != null && !tls) {
            throw parser.refused("ca=" + certificates + " is for TLS; write rediss:// or add tls=true");
        }
        Acknowledgement acknowledgement;
        try {
            acknowledgement = Acknowledgement.parse(parameters.get("waitReplicas"), parameters.get("waitTimeout"));
        } catch (IllegalArgumentException e) {
            throw parser.refused(String.valueOf(e.getMessage()));
        }
        return new RedisUri(
                authority, database, tls, certificates, parser.keys(parameters.get("keys")), acknowledgement, false);
    }

    /**
     * The server that is named in the driver's own form.
     *
     * @throws IllegalArgumentException if that names no host
     */
    public static RedisUri of(RedisURI given, KeyLayout keys) {
        if (given.getHost() == null || given.getHost().isEmpty()) {
            throw new IllegalArgumentException(
                    "the RedisURI names no host and port: name the server itself, and neither"
                            + " Sentinels nor a socket");
        }
        return new RedisUri(given, keys, false);
    }

    /** The same with the locks elsewhere. */
    RedisUri keys(KeyLayout layout) {
        return changed(host, port, layout, asksForLogin);
    }

    /** Another server of the same deployment: with these credentials and settings, at another address. */
    RedisUri at(String otherHost, int otherPort) {
        return changed(otherHost, otherPort, keys, asksForLogin);
    }

    /** The same, with a login that a provider is asked for at each connection. */
    RedisUri askingForLogin() {
        return changed(host, port, keys, true);
    }

    boolean asksForLogin() {
        return asksForLogin;
    }

    private RedisUri changed(String newHost, int newPort, KeyLayout layout, boolean asks) {
        if (given != null) {
            boolean moved = !newHost.equals(host) || newPort != port;
            return new RedisUri(
                    moved
                            ? RedisURI.builder(given)
                                    .withHost(newHost)
                                    .withPort(newPort)
                                    .build()
                            : given,
                    layout,
                    asks);
        }
        return new RedisUri(
                new Authority(newHost, newPort, user, password),
                database,
                tls,
                certificates,
                layout,
                acknowledgement,
                asks);
    }

    /** Who and where; holds the secret, so it is no record. */
    private static final class Authority {
        private final String host;
        private final int port;
        private final @Nullable String user;
        private final char @Nullable [] password;

        private Authority(String host, int port, @Nullable String user, char @Nullable [] password) {
            this.host = host;
            this.port = port;
            this.user = user;
            this.password = password;
        }
    }

    /** Reads the parts of one URI; its errors name the URI without its secrets. */
    private record Parser(StoreUri uri) {

        IllegalArgumentException refused(String rule) {
            return new IllegalArgumentException("store URI \"" + uri.redacted() + "\": " + rule);
        }

        Map<String, String> parameters(String query) {
            Map<String, String> found = new LinkedHashMap<>();
            for (String pair : query.split("&", -1)) {
                if (pair.isEmpty()) {
                    continue;
                }
                int equals = pair.indexOf('=');
                String name = equals < 0 ? pair : pair.substring(0, equals);
                if (!PARAMETERS.contains(name)) {
                    throw refused("unknown parameter \"" + name + "\"; known are " + String.join(", ", PARAMETERS));
                }
                if (found.put(name, decoded(equals < 0 ? "" : pair.substring(equals + 1), name)) != null) {
                    throw refused("parameter \"" + name + "\" is given twice");
                }
            }
            return found;
        }

        Authority authority(String text) {
            int at = text.lastIndexOf('@');
            String user = null;
            char[] password = null;
            if (at >= 0) {
                String userInfo = text.substring(0, at);
                int colon = userInfo.indexOf(':');
                if (colon < 0 || colon == userInfo.length() - 1) {
                    throw refused("what stands before @ needs a password: write user:password@ or :password@");
                }
                user = colon == 0 ? null : decoded(userInfo.substring(0, colon), "user");
                password = decoded(userInfo.substring(colon + 1), "password").toCharArray();
            }
            String address = text.substring(at + 1);
            int portColon =
                    address.startsWith("[") ? address.indexOf(':', address.indexOf(']') + 1) : address.indexOf(':');
            String host = portColon < 0 ? address : address.substring(0, portColon);
            if (host.startsWith("[") && host.endsWith("]")) {
                host = host.substring(1, host.length() - 1);
            }
            if (host.isBlank() || host.indexOf('[') >= 0 || host.indexOf(']') >= 0 || host.indexOf(',') >= 0) {
                throw refused("\"" + host + "\" is no host; write " + FORM);
            }
            return new Authority(
                    host,
                    portColon < 0 ? DEFAULT_PORT : number(address.substring(portColon + 1), "port", 1, 65_535),
                    user,
                    password);
        }

        int database(String path) {
            return path.isEmpty() ? 0 : number(path, "database", 0, MAX_DATABASES);
        }

        KeyLayout keys(@Nullable String template) {
            return template == null ? KeyLayout.standard() : KeyLayout.of(template);
        }

        boolean tls(@Nullable String value) {
            boolean secure = uri.scheme().equals("rediss");
            if (value == null) {
                return secure;
            }
            if (!value.equals("true") && !value.equals("false")) {
                throw refused("tls=" + value + " must be true or false");
            }
            if (secure && value.equals("false")) {
                throw refused("rediss:// means TLS and tls=false means none; decide");
            }
            return value.equals("true");
        }

        private int number(String text, String what, int least, int most) {
            if (text.matches("[0-9]{1,9}")) {
                int number = Integer.parseInt(text);
                if (number >= least && number <= most) {
                    return number;
                }
            }
            throw refused(what + " \"" + text + "\" must be a number from " + least + " to " + most);
        }

        private String decoded(String text, String what) {
            try {
                // URLDecoder is for forms, where a plus sign is a space.
                return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
            } catch (IllegalArgumentException e) {
                throw refused(
                        "the " + what + " has a % that is not followed by two hexadecimal digits; write % as %25");
            }
        }
    }

    /**
     * For the driver.
     *
     * @param handshakeTimeout also in place of what was given: it is meant for requests, a minute unless set, and each try that a
     *     frozen server does not answer would stay as long
     * @param login in place of what the URI names, unless null
     */
    RedisURI forDriver(Duration handshakeTimeout, @Nullable Credentials login) {
        if (given != null) {
            RedisURI.Builder limited = RedisURI.builder(given).withTimeout(handshakeTimeout);
            return login == null ? limited.build() : authenticated(limited, login.user(), login.password());
        }
        RedisURI.Builder builder = RedisURI.builder()
                .withHost(host)
                .withPort(port)
                .withDatabase(database)
                .withSsl(tls)
                .withTimeout(handshakeTimeout)
                .withLibraryName("")
                .withLibraryVersion("");
        if (login != null) {
            return authenticated(builder, login.user(), login.password());
        }
        return password == null ? builder.build() : authenticated(builder, user, password);
    }

    private static RedisURI authenticated(RedisURI.Builder builder, @Nullable String user, char[] password) {
        return (user == null ? builder.withPassword(password) : builder.withAuthentication(user, password)).build();
    }

    /** Whether the URI names a password. A login in the driver's own form does not count. */
    boolean hasPassword() {
        return password != null;
    }

    /** The file of certificates that vouch for the server, or null for those of the platform. */
    @Nullable
    String certificates() {
        return certificates;
    }

    /** Where the locks are. */
    KeyLayout keys() {
        return keys;
    }

    /** By how many replicas an acquire is to be acknowledged. */
    Acknowledgement acknowledgement() {
        return acknowledgement;
    }

    /** The host alone. */
    String host() {
        return host;
    }

    int port() {
        return port;
    }

    /** The database, 0 unless named. */
    int database() {
        return database;
    }

    /** Whether over TLS. */
    boolean tls() {
        return tls;
    }

    /** {@code host:port}. */
    public String address() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }

    /** The server as people would name it: without user and password. */
    @Override
    public String toString() {
        return (tls ? "rediss://" : "redis://") + address() + (database == 0 ? "" : "/" + database);
    }
}

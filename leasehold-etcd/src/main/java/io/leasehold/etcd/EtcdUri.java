package io.leasehold.etcd;

import io.leasehold.spi.StoreUri;
import io.leasehold.spi.TokenRange;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The URI of a cluster: {@code etcd://[user:password@]host[:port],…[/prefix][?option=value&…]}.
 *
 * <p>User, password and option values are percent-decoded. Neither messages nor {@link #toString()} show secrets.
 */
final class EtcdUri {

    private static final int DEFAULT_PORT = 2379;
    private static final String DEFAULT_PREFIX = "leasehold";
    private static final String FORM = "etcd://[user:password@]host[:port],host…[/prefix]";
    private static final Set<String> OPTIONS =
            new TreeSet<>(Set.of("tokenBase", "electionTimeout", "tls", "ca", "cert", "key"));
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(ms|s|m)");
    private static final Duration LEAST_SPAN = Duration.ofMillis(1);
    private static final Duration MOST_SPAN = Duration.ofDays(2);

    private final StoreUri uri;
    private final List<String> servers;
    private final String prefix;
    private final @Nullable Credentials credentials;
    private final Map<String, String> options;

    private EtcdUri(
            StoreUri uri,
            List<String> servers,
            String prefix,
            @Nullable Credentials credentials,
            Map<String, String> options) {
        this.uri = uri;
        this.servers = servers;
        this.prefix = prefix;
        this.credentials = credentials;
        this.options = options;
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if it is malformed, has an unknown option, or names a file that is not there;
     *     secrets are not repeated
     */
    static EtcdUri parse(StoreUri uri) {
        String rest = uri.rest();
        if (!rest.startsWith("//")) {
            throw refused(uri, "the scheme must be followed by //; write " + FORM);
        }
        if (rest.indexOf('#') >= 0) {
            throw refused(uri, "a fragment (#…) has no meaning here; write # in a password as %23");
        }
        int question = rest.indexOf('?');
        String main = question < 0 ? rest.substring(2) : rest.substring(2, question);
        Map<String, String> options = options(uri, question < 0 ? "" : rest.substring(question + 1));
        int at = main.lastIndexOf('@');
        int slash = main.indexOf('/', at + 1);
        Credentials credentials = at < 0 ? null : credentials(uri, main.substring(0, at));
        String hosts = slash < 0 ? main.substring(at + 1) : main.substring(at + 1, slash);
        String prefix = slash < 0 ? DEFAULT_PREFIX : prefix(uri, main.substring(slash + 1));
        EtcdUri parsed = new EtcdUri(uri, servers(uri, hosts), prefix, credentials, options);
        parsed.check();
        return parsed;
    }

    private void check() {
        tokenBase();
        electionTimeout();
        boolean tls = tls();
        for (String name : List.of("ca", "cert", "key")) {
            if (options.containsKey(name) && !tls) {
                throw refused(uri, name + " is for TLS; add tls=true");
            }
            file(name);
        }
        if (options.containsKey("cert") != options.containsKey("key")) {
            throw refused(uri, "cert and key belong together; give both or none");
        }
    }

    private static Map<String, String> options(StoreUri uri, String query) {
        Map<String, String> found = new LinkedHashMap<>();
        for (String pair : query.split("&", -1)) {
            if (pair.isEmpty()) {
                continue;
            }
            int equals = pair.indexOf('=');
            String name = equals < 0 ? pair : pair.substring(0, equals);
            if (!OPTIONS.contains(name)) {
                throw refused(uri, "unknown option \"" + name + "\"; known are " + String.join(", ", OPTIONS));
            }
            String value = equals < 0 ? "" : decoded(uri, pair.substring(equals + 1), name);
            if (found.put(name, value) != null) {
                throw refused(uri, "option \"" + name + "\" is given twice");
            }
        }
        return found;
    }

    /** Who the client is; holds a secret, so it is no record. */
    static final class Credentials {
        private final String user;
        private final String password;

        private Credentials(String user, String password) {
            this.user = user;
            this.password = password;
        }

        String user() {
            return user;
        }

        String password() {
            return password;
        }
    }

    private static Credentials credentials(StoreUri uri, String text) {
        int colon = text.indexOf(':');
        if (colon <= 0 || colon == text.length() - 1) {
            throw refused(uri, "what stands before @ must be user:password@");
        }
        return new Credentials(
                decoded(uri, text.substring(0, colon), "user"), decoded(uri, text.substring(colon + 1), "password"));
    }

    private static List<String> servers(StoreUri uri, String hosts) {
        List<String> found = new ArrayList<>();
        for (String server : hosts.split(",", -1)) {
            found.add(server(uri, server));
        }
        return List.copyOf(found);
    }

    private static String server(StoreUri uri, String text) {
        int afterBracket = text.startsWith("[") ? text.indexOf(']') + 1 : 0;
        int colon = text.indexOf(':', afterBracket);
        String host = colon < 0 ? text : text.substring(0, colon);
        boolean bracketed = host.startsWith("[") && host.endsWith("]") && host.length() > 2;
        if (host.isBlank() || (!bracketed && !host.matches("[A-Za-z0-9._-]+"))) {
            throw refused(uri, "\"" + host + "\" is no host; write " + FORM);
        }
        String port = colon < 0 ? "" + DEFAULT_PORT : text.substring(colon + 1);
        if (!port.matches("[0-9]{1,5}") || Integer.parseInt(port) < 1 || Integer.parseInt(port) > 65_535) {
            throw refused(uri, "port \"" + port + "\" must be a number from 1 to 65535");
        }
        return host + ":" + port;
    }

    private static String prefix(StoreUri uri, String path) {
        String trimmed = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        if (trimmed.isEmpty()) {
            return DEFAULT_PREFIX;
        }
        if (!trimmed.matches("[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")) {
            throw refused(
                    uri,
                    "\"" + path + "\" is no prefix; write names of letters, digits, '.', '_' and '-' between slashes");
        }
        return trimmed;
    }

    private static String decoded(StoreUri uri, String text, String what) {
        try {
            // URLDecoder is for forms, where a plus sign is a space.
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw refused(
                    uri, "the " + what + " has a % that is not followed by two hexadecimal digits; write % as %25");
        }
    }

    private static IllegalArgumentException refused(StoreUri uri, String rule) {
        return new IllegalArgumentException("store URI \"" + uri.redacted() + "\": " + rule);
    }

    /** {@code host:port} of each member that was named. */
    List<String> servers() {
        return servers;
    }

    /** The members as the driver takes them. */
    List<URI> endpoints() {
        return servers.stream()
                .map(server -> URI.create((tls() ? "https://" : "http://") + server))
                .toList();
    }

    /** What all keys of this store begin with; without a slash at its end. */
    String prefix() {
        return prefix;
    }

    /** User and password, or null. */
    @Nullable
    Credentials credentials() {
        return credentials;
    }

    /** What is added to a create revision to make a fencing token. */
    long tokenBase() {
        String value = options.getOrDefault("tokenBase", "0");
        if (value.matches("[0-9]{1,16}") && Long.parseLong(value) < TokenRange.LIMIT) {
            return Long.parseLong(value);
        }
        throw refused(uri, "the base of the fencing tokens must be a whole number from 0 to 2^53-1 (9007199254740991)");
    }

    /** For how long a member that is cut off may still believe that it leads: the cluster's election timeout. */
    Duration electionTimeout() {
        Duration timeout = duration("electionTimeout");
        return timeout == null ? Duration.ofSeconds(1) : timeout;
    }

    private @Nullable Duration duration(String option) {
        String value = options.get(option);
        if (value == null) {
            return null;
        }
        Matcher matcher = DURATION.matcher(value.toLowerCase(Locale.ROOT));
        if (!matcher.matches()) {
            throw refused(uri, option + "=" + value + " is no duration; write for example 500ms, 10s or 2m");
        }
        long number = Long.parseLong(matcher.group(1));
        Duration span = switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            default -> Duration.ofMinutes(number);
        };
        if (span.compareTo(LEAST_SPAN) < 0 || span.compareTo(MOST_SPAN) > 0) {
            throw refused(uri, option + "=" + value + " must be from 1ms to 48 hours");
        }
        return span;
    }

    boolean tls() {
        String value = options.getOrDefault("tls", "false");
        if (!value.equals("true") && !value.equals("false")) {
            throw refused(uri, "tls=" + value + " must be true or false");
        }
        return value.equals("true");
    }

    /** The file that an option names ({@code ca}, {@code cert} or {@code key}), or null. */
    @Nullable
    Path file(String option) {
        String value = options.get(option);
        if (value == null) {
            return null;
        }
        try {
            Path path = Path.of(value);
            if (Files.isReadable(path)) {
                return path;
            }
        } catch (InvalidPathException e) {
            throw refused(uri, option + ": \"" + value + "\" is no path: " + e.getReason());
        }
        throw refused(uri, option + ": there is no file \"" + value + "\" that can be read");
    }

    /** The cluster as people would name it: without user and password. */
    @Override
    public String toString() {
        return "etcd://" + String.join(",", servers) + "/" + prefix;
    }
}

package io.leasehold.zookeeper;

import io.leasehold.spi.StoreUri;
import io.leasehold.spi.TokenRange;
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
 * The URI of an ensemble: {@code zk://[user:password@]host[:port],…[/chroot][?option=value&…]}.
 *
 * <p>User, password and option values are percent-decoded. Neither messages nor {@link #toString()} show secrets.
 */
final class ZooKeeperUri {

    private static final int DEFAULT_PORT = 2181;
    private static final String DEFAULT_CHROOT = "/leasehold";
    private static final String FORM = "zk://[user:password@]host[:port],host…[/chroot]";
    private static final Set<String> OPTIONS = new TreeSet<>(Set.of(
            "tokenBase", "sessionTimeout", "tickTime", "tls", "ca", "caPassword", "identity", "identityPassword"));
    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(ms|s|m)");
    private static final Duration LEAST_SPAN = Duration.ofMillis(1);
    private static final Duration MOST_SPAN = Duration.ofDays(2);

    /** A file of certificates or keys, with the password that opens it; holds a secret, so it is no record. */
    static final class KeyFile {
        private final Path path;
        private final @Nullable String password;

        private KeyFile(Path path, @Nullable String password) {
            this.path = path;
            this.password = password;
        }

        Path path() {
            return path;
        }

        @Nullable
        String password() {
            return password;
        }
    }

    private final StoreUri uri;
    private final List<String> servers;
    private final String chroot;
    private final @Nullable String credentials;
    private final Map<String, String> options;

    private ZooKeeperUri(
            StoreUri uri,
            List<String> servers,
            String chroot,
            @Nullable String credentials,
            Map<String, String> options) {
        this.uri = uri;
        this.servers = servers;
        this.chroot = chroot;
        this.credentials = credentials;
        this.options = options;
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if it is malformed, has an unknown option, or names a file that is not there;
     *     secrets are not repeated
     */
    static ZooKeeperUri parse(StoreUri uri) {
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
        String credentials = at < 0 ? null : credentials(uri, main.substring(0, at));
        String hosts = slash < 0 ? main.substring(at + 1) : main.substring(at + 1, slash);
        String chroot = slash < 0 ? DEFAULT_CHROOT : chroot(uri, main.substring(slash));
        ZooKeeperUri parsed = new ZooKeeperUri(uri, servers(uri, hosts), chroot, credentials, options);
        parsed.check();
        return parsed;
    }

    private void check() {
        tokenBase();
        tickTime();
        sessionTimeout();
        boolean tls = tls();
        for (String name : List.of("ca", "caPassword", "identity", "identityPassword")) {
            if (options.containsKey(name) && !tls) {
                throw refused(uri, name + " is for TLS; add tls=true");
            }
        }
        keyFile("ca");
        keyFile("identity");
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

    private static String credentials(StoreUri uri, String text) {
        int colon = text.indexOf(':');
        if (colon <= 0 || colon == text.length() - 1) {
            throw refused(uri, "what stands before @ must be user:password@ (digest authentication)");
        }
        String user = decoded(uri, text.substring(0, colon), "user");
        if (user.indexOf(':') >= 0) {
            throw refused(uri, "a user of digest authentication cannot contain ':'");
        }
        return user + ":" + decoded(uri, text.substring(colon + 1), "password");
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

    private static String chroot(StoreUri uri, String path) {
        String trimmed = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
        if (trimmed.isEmpty()) {
            return DEFAULT_CHROOT;
        }
        if (!trimmed.matches("(/[A-Za-z0-9._-]+)+") || trimmed.matches(".*/\\.{1,2}(/.*)?")) {
            throw refused(
                    uri,
                    "\"" + path + "\" is no chroot; write names of letters, digits, '.', '_' and '-' between slashes");
        }
        if (trimmed.equals("/zookeeper") || trimmed.startsWith("/zookeeper/")) {
            throw refused(uri, "/zookeeper belongs to ZooKeeper itself; name another chroot");
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

    /** For the driver; without the chroot, which need not exist yet. */
    String connectString() {
        return String.join(",", servers);
    }

    /** Where the locks are: an absolute path below the root, without a slash at its end. */
    String chroot() {
        return chroot;
    }

    /** {@code user:password}, or null. */
    @Nullable
    String credentials() {
        return credentials;
    }

    /** The user, or null. */
    @Nullable
    String user() {
        return credentials == null ? null : credentials.substring(0, credentials.indexOf(':'));
    }

    /** What is added to a zxid to make a fencing token. */
    long tokenBase() {
        String value = options.getOrDefault("tokenBase", "0");
        if (value.matches("[0-9]{1,16}") && Long.parseLong(value) < TokenRange.LIMIT) {
            return Long.parseLong(value);
        }
        throw refused(uri, "the base of the fencing tokens must be a whole number from 0 to 2^53-1 (9007199254740991)");
    }

    /** The longest gap between what a follower knows of a session and what the leader knows: the ensemble's tick. */
    Duration tickTime() {
        Duration tick = duration("tickTime");
        return tick == null ? Duration.ofSeconds(2) : tick;
    }

    /** What every session asks for, or null if it follows from the ttl. */
    @Nullable
    Duration sessionTimeout() {
        return duration("sessionTimeout");
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

    /** The file that an option names ({@code ca} or {@code identity}), or null. */
    @Nullable
    KeyFile keyFile(String option) {
        String value = options.get(option);
        if (value == null) {
            return null;
        }
        try {
            Path path = Path.of(value);
            if (!Files.isReadable(path)) {
                throw refused(uri, option + ": there is no file \"" + value + "\" that can be read");
            }
            return new KeyFile(path, options.get(option + "Password"));
        } catch (InvalidPathException e) {
            throw refused(uri, option + ": \"" + value + "\" is no path: " + e.getReason());
        }
    }

    /** The ensemble as people would name it: without user and password. */
    @Override
    public String toString() {
        return "zk://" + connectString() + chroot;
    }
}

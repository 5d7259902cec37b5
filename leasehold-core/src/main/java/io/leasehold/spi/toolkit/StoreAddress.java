package io.leasehold.spi.toolkit;

import io.leasehold.spi.StoreUri;
import io.leasehold.spi.TokenRange;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a store URI with hosts: {@code scheme://[user:password@]host[:port],…[/path][?option=value&…]}.
 *
 * <p>User, password and option values are percent-decoded. A violation is an {@link IllegalArgumentException} that names the
 * rule; neither it nor {@link #toString()} shows secrets. Immutable.
 */
public final class StoreAddress {

    private static final Pattern DURATION = Pattern.compile("([0-9]{1,9})(ms|s|m)");
    /** An @ behind a ? or a # may end a password that contains one of these: then messages repeat no part of the URI. */
    private static final Pattern CUT = Pattern.compile("(?s)[?#].*@");

    private static final Duration MIN_SPAN = Duration.ofMillis(1);
    private static final Duration MAX_SPAN = Duration.ofDays(2);

    private final StoreUri uri;
    private final List<String> servers;
    private final String path;
    private final @Nullable String user;
    private final @Nullable String password;
    private final Map<String, String> options;

    /**
     * The form of a scheme's URIs.
     *
     * @param pattern for error messages
     * @param defaultPort of a host without one
     * @param options the names of all options
     * @param passwordAlone whether a password is allowed without a user: {@code :password@}
     */
    public record Form(String pattern, int defaultPort, List<String> options, boolean passwordAlone) {
        /** Copies the options, in order. */
        public Form {
            options = List.copyOf(new TreeSet<>(options));
        }

        /** A form in which a password needs a user. */
        public Form(String pattern, int defaultPort, List<String> options) {
            this(pattern, defaultPort, options, false);
        }
    }

    /**
     * Parses a URI.
     *
     * @throws IllegalArgumentException if it does not have this form, or has an unknown option, or one twice
     */
    public static StoreAddress parse(StoreUri uri, Form form) {
        return new StoreAddress(uri, form);
    }

    private StoreAddress(StoreUri uri, Form form) {
        this.uri = uri;
        String rest = uri.rest();
        if (!rest.startsWith("//")) {
            throw refused(uri, "the scheme must be followed by //; write " + form.pattern());
        }
        if (rest.indexOf('#') >= 0) {
            throw refused(uri, "a fragment (#…) has no meaning here; write # in a password as %23");
        }
        int question = rest.indexOf('?');
        String main = question < 0 ? rest.substring(2) : rest.substring(2, question);
        this.options = options(uri, form, question < 0 ? "" : rest.substring(question + 1));
        int at = main.lastIndexOf('@');
        int slash = main.indexOf('/', at + 1);
        int colon = main.indexOf(':');
        if (at >= 0 && (colon < (form.passwordAlone() ? 0 : 1) || colon >= at - 1)) {
            throw refused(
                    uri,
                    form.passwordAlone()
                            ? "the part before @ needs a password: write user:password@ or :password@"
                            : "the part before the host must be a user, a colon and a password");
        }
        String hosts = slash < 0 ? main.substring(at + 1) : main.substring(at + 1, slash);
        this.servers = Stream.of(hosts.split(",", -1))
                .map(server -> server(uri, form, server))
                .toList();
        String rooted = slash < 0 ? "" : main.substring(slash + 1);
        this.path = rooted.endsWith("/") ? rooted.substring(0, rooted.length() - 1) : rooted;
        this.user = at < 0 || colon == 0 ? null : decoded(uri, main.substring(0, colon), "user");
        this.password = at < 0 ? null : decoded(uri, main.substring(colon + 1, at), "password");
    }

    private static Map<String, String> options(StoreUri uri, Form form, String query) {
        Map<String, String> found = new LinkedHashMap<>();
        for (String pair : query.split("&", -1)) {
            if (pair.isEmpty()) {
                continue;
            }
            int equals = pair.indexOf('=');
            String name = equals < 0 ? pair : pair.substring(0, equals);
            if (!form.options().contains(name)) {
                throw refused(uri, "unknown option \"" + name + "\"; known are " + String.join(", ", form.options()));
            }
            String value = equals < 0 ? "" : decoded(uri, pair.substring(equals + 1), name);
            if (found.put(name, value) != null) {
                throw refused(uri, "option \"" + name + "\" is given twice");
            }
        }
        return found;
    }

    private static String server(StoreUri uri, Form form, String text) {
        int afterBracket = text.startsWith("[") ? text.indexOf(']') + 1 : 0;
        int colon = text.indexOf(':', afterBracket);
        String host = colon < 0 ? text : text.substring(0, colon);
        boolean bracketed = host.startsWith("[") && host.endsWith("]") && host.length() > 2;
        if (host.isBlank() || (!bracketed && !host.matches("[A-Za-z0-9._-]+"))) {
            throw refused(uri, "\"" + host + "\" is no host; write " + form.pattern());
        }
        String port = colon < 0 ? Integer.toString(form.defaultPort()) : text.substring(colon + 1);
        if (!port.matches("[0-9]{1,5}") || Integer.parseInt(port) < 1 || Integer.parseInt(port) > 65_535) {
            throw refused(uri, "port \"" + port + "\" must be a number from 1 to 65535");
        }
        return host + ":" + port;
    }

    /**
     * Decodes the percent-encoded characters of a part of a URI.
     *
     * @param what the part, for the message
     * @throws IllegalArgumentException if a % is not followed by two hexadecimal digits
     */
    public static String decoded(StoreUri uri, String text, String what) {
        try {
            // URLDecoder is for forms, where a plus sign is a space.
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw refused(
                    uri, "the " + what + " has a % that is not followed by two hexadecimal digits; write % as %25");
        }
    }

    private static IllegalArgumentException refused(StoreUri uri, String rule) {
        String told = CUT.matcher(uri.rest()).find()
                ? "it cannot be read, and an @ follows a ? or a #; write ? and # in a password as %3F and %23, and @ in"
                        + " an option as %40"
                : rule;
        return new IllegalArgumentException("store URI \"" + uri.redacted() + "\": " + told);
    }

    /** The exception for a part that violates a rule of the store. */
    public IllegalArgumentException refused(String rule) {
        return refused(uri, rule);
    }

    /** {@code host:port} of each server that was named; an IPv6 address in brackets. */
    public List<String> servers() {
        return servers;
    }

    /** The path after the hosts, not decoded, without slashes at its ends; may be empty. */
    public String path() {
        return path;
    }

    /** The user, or null. */
    public @Nullable String user() {
        return user;
    }

    /** The password, or null if there is none; there is no user without one. Never for display. */
    public @Nullable String password() {
        return password;
    }

    /** Whether the option is given. */
    public boolean has(String option) {
        return options.containsKey(option);
    }

    /** The value of an option, or null. */
    public @Nullable String option(String option) {
        return options.get(option);
    }

    /** An option that is {@code true} or {@code false}, false unless given. */
    public boolean flag(String option) {
        String value = options.getOrDefault(option, "false");
        if (!value.equals("true") && !value.equals("false")) {
            throw refused(option + "=" + value + " must be true or false");
        }
        return value.equals("true");
    }

    /** An option like {@code 500ms}, {@code 10s} or {@code 2m}, from 1 ms to 48 hours, or null. */
    public @Nullable Duration duration(String option) {
        String value = options.get(option);
        return value == null ? null : duration(uri, option, value);
    }

    /**
     * Reads the value of an option as {@link #duration(String)} does.
     *
     * @throws IllegalArgumentException if it is not a duration
     */
    public static Duration duration(StoreUri uri, String option, String value) {
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
        if (span.compareTo(MIN_SPAN) < 0 || span.compareTo(MAX_SPAN) > 0) {
            throw refused(uri, option + "=" + value + " must be from 1ms to 48 hours");
        }
        return span;
    }

    /** The option {@code tokenBase}: the offset of the fencing tokens from the store's numbers; 0 unless given. */
    public long tokenBase() {
        String value = options.getOrDefault("tokenBase", "0");
        if (value.matches("[0-9]{1,16}") && Long.parseLong(value) < TokenRange.LIMIT) {
            return Long.parseLong(value);
        }
        throw refused("the base of the fencing tokens must be a whole number from 0 to 2^53-1 (9007199254740991)");
    }

    /** The file that an option names, which must be readable, or null. */
    public @Nullable Path file(String option) {
        String value = options.get(option);
        if (value == null) {
            return null;
        }
        try {
            Path found = Path.of(value);
            if (Files.isReadable(found)) {
                return found;
            }
        } catch (InvalidPathException e) {
            throw refused(option + ": \"" + value + "\" is no path: " + e.getReason());
        }
        throw refused(option + ": there is no file \"" + value + "\" that can be read");
    }

    /** Checks that options for TLS are given only with {@code tls=true}, and that those for files name readable files. */
    public void checkTls(List<String> files, List<String> others) {
        boolean tls = flag("tls");
        for (List<String> names : List.of(files, others)) {
            for (String name : names) {
                if (has(name) && !tls) {
                    throw refused(name + " is for TLS; add tls=true");
                }
            }
        }
        files.forEach(this::file);
    }

    /** As {@link StoreUri#redacted()}. */
    @Override
    public String toString() {
        return uri.redacted();
    }
}

package io.leasehold.cli;

import io.leasehold.spi.StoreUri;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/** The selected store: {@code --store}, else {@value #VARIABLE}, else the SQLite file in the user's home. */
public final class StoreOption {

    /** The environment variable that names the store. */
    public static final String VARIABLE = "LEASEHOLD_STORE";

    private static final String DEFAULT = "sqlite:";
    private static final char UNREADABLE = '\uFFFD';
    private static final Pattern PASSWORD = Pattern.compile("//[^/?#@]*:([^/?#]*)@|//([^/?#:@]+)@");
    private static final Pattern PARAMETER =
            Pattern.compile("(?i)(?:password|passwd|pass|pwd|secret|token)[a-z_-]*=([^&;]+)");

    @Option(
            names = "--store",
            paramLabel = "URI",
            scope = ScopeType.INHERIT,
            description = "Names the store (LEASEHOLD_STORE, else sqlite:).")
    private @Nullable List<String> uris;

    /** Names the store, as {@code --store} does. */
    public void name(String uri) {
        uris = List.of(uri);
    }

    /** The URIs on the command line, including secrets; empty if the environment or the default names the store. */
    public List<String> given() {
        return uris == null ? List.of() : List.copyOf(uris);
    }

    /** The store's URI, including its secrets. */
    public String uri(Map<String, String> environment) {
        List<String> given = given();
        if (given.size() == 1) {
            return checked(given.get(0));
        }
        if (given.isEmpty()) {
            String set = environment.get(VARIABLE);
            return set == null || set.isBlank() ? DEFAULT : checked(set);
        }
        StringBuilder redlock = new StringBuilder("redlock:");
        for (int i = 0; i < given.size(); i++) {
            redlock.append(i == 0 ? "?node=" : "&node=")
                    .append(URLEncoder.encode(given.get(i), StandardCharsets.UTF_8));
        }
        return redlock.toString();
    }

    /** Refuses a URI that would mean another store in a process with another locale. */
    private static String checked(String uri) {
        if (uri.indexOf(UNREADABLE) >= 0) {
            throw new IllegalArgumentException(
                    "the store's URI is not valid UTF-8: name it with --store or in " + VARIABLE + " as UTF-8");
        }
        return uri;
    }

    /** Whether the URI may contain a secret. */
    public static boolean holdsSecret(String uri) {
        try {
            return !StoreUri.parse(uri).redacted().equals(uri) || !secrets(uri).isEmpty();
        } catch (IllegalArgumentException malformed) {
            return true;
        }
    }

    /** The parts of the URI that must never be shown, in every possible encoding. */
    public static List<String> secrets(String uri) {
        List<String> found = new ArrayList<>();
        collect(found, uri);
        String decoded = decoded(uri);
        if (!decoded.equals(uri)) {
            collect(found, decoded);
            collect(found, decoded(decoded));
        }
        return found.stream().filter(secret -> !secret.isEmpty()).distinct().toList();
    }

    private static void collect(List<String> found, String uri) {
        for (Pattern pattern : List.of(PASSWORD, PARAMETER)) {
            for (Matcher matcher = pattern.matcher(uri); matcher.find(); ) {
                for (int group = 1; group <= matcher.groupCount(); group++) {
                    String secret = matcher.group(group);
                    if (secret != null) {
                        found.add(secret);
                        found.add(decoded(secret));
                    }
                }
            }
        }
    }

    private static String decoded(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException notEncoded) {
            return text;
        }
    }
}

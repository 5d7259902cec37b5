package io.leasehold.servers;

import java.util.Comparator;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The version of a server, ordered numerically; Redis and Valkey numbers are compared as they stand. */
public record ServerVersion(int major, int minor, int patch) implements Comparable<ServerVersion> {
    private static final Pattern THREE_NUMBERS = Pattern.compile("v?=?(\\d{1,6})\\.(\\d{1,6})\\.(\\d{1,6})");
    private static final Comparator<ServerVersion> ORDER = Comparator.comparingInt(ServerVersion::major)
            .thenComparingInt(ServerVersion::minor)
            .thenComparingInt(ServerVersion::patch);

    /** The first {@code a.b.c} in the text, as {@code redis-server --version} and {@code INFO server} print it. */
    static Optional<ServerVersion> firstIn(String text) {
        Matcher matcher = THREE_NUMBERS.matcher(text);
        if (!matcher.find()) {
            return Optional.empty();
        }
        return Optional.of(new ServerVersion(
                Integer.parseInt(matcher.group(1)),
                Integer.parseInt(matcher.group(2)),
                Integer.parseInt(matcher.group(3))));
    }

    /** Whether this version is {@code major.minor.0} or newer. */
    public boolean isAtLeast(int otherMajor, int otherMinor) {
        return compareTo(new ServerVersion(otherMajor, otherMinor, 0)) >= 0;
    }

    @Override
    public int compareTo(ServerVersion other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return major + "." + minor + "." + patch;
    }
}

package io.leasehold.etcd;

import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.StoreAddress;
import io.leasehold.spi.toolkit.TokenBase;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The URI of a cluster: {@code etcd://[user:password@]host[:port],…[/prefix][?option=value&…]}.
 *
 * <p>Neither messages nor {@link #toString()} show secrets.
 */
final class EtcdUri {

    private static final String DEFAULT_PREFIX = "leasehold";
    private static final StoreAddress.Form FORM = new StoreAddress.Form(
            "etcd://[user:password@]host[:port],host…[/prefix]",
            2379,
            List.of("tokenBase", "readers", "electionTimeout", "tls", "ca", "cert", "key"));

    private final StoreAddress address;
    private final String prefix;

    private EtcdUri(StoreAddress address) {
        this.address = address;
        this.prefix = prefix(address);
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if it is malformed, has an unknown option, or names a file that is not there;
     *     secrets are not repeated
     */
    static EtcdUri parse(StoreUri uri) {
        EtcdUri parsed = new EtcdUri(StoreAddress.parse(uri, FORM));
        parsed.check();
        return parsed;
    }

    /**
     * This URI, for a log-in with credentials from a provider.
     *
     * @throws IllegalArgumentException if it names a user itself
     */
    EtcdUri withoutLogin() {
        if (address.user() != null) {
            throw address.refused(
                    "it names user and password, but a credentials provider is also set: remove one of the two");
        }
        return this;
    }

    private void check() {
        tokens();
        electionTimeout();
        address.checkTls(List.of("ca", "cert", "key"), List.of());
        if (address.has("cert") != address.has("key")) {
            throw address.refused("cert and key belong together; give both or none");
        }
    }

    private static String prefix(StoreAddress address) {
        String path = address.path();
        if (path.isEmpty()) {
            return DEFAULT_PREFIX;
        }
        if (!path.matches("[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")) {
            throw address.refused(
                    "\"" + path + "\" is no prefix; write names of letters, digits, '.', '_' and '-' between slashes");
        }
        return path;
    }

    /** The members in the form that the driver expects. */
    List<URI> endpoints() {
        return address.servers().stream()
                .map(server -> URI.create((tls() ? "https://" : "http://") + server))
                .toList();
    }

    /** The prefix of all keys of this store; without a slash at its end. */
    String prefix() {
        return prefix;
    }

    /** The user, or null. */
    @Nullable
    String user() {
        return address.user();
    }

    /** The password, or null exactly if there is no user. */
    @Nullable
    String password() {
        return address.password();
    }

    /** Whether locks may have readers. */
    boolean readers() {
        return address.flag("readers");
    }

    /** The rule by which create revisions become fencing tokens. */
    TokenBase tokens() {
        return new TokenBase(address.tokenBase(), readers(), toString());
    }

    /** The election timeout of the cluster: a member that is cut off may believe for this time that it still leads. */
    Duration electionTimeout() {
        Duration timeout = address.duration("electionTimeout");
        return timeout == null ? Duration.ofSeconds(1) : timeout;
    }

    boolean tls() {
        return address.flag("tls");
    }

    /** The file that an option names ({@code ca}, {@code cert} or {@code key}), or null. */
    @Nullable
    Path file(String option) {
        return address.file(option);
    }

    /** The cluster for messages: without user and password. */
    @Override
    public String toString() {
        return "etcd://" + String.join(",", address.servers()) + "/" + prefix;
    }
}

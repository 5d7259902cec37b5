package io.leasehold.zookeeper;

import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.StoreAddress;
import io.leasehold.spi.toolkit.TokenBase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The URI of an ensemble: {@code zk://[user:password@]host[:port],…[/chroot][?option=value&…]}.
 *
 * <p>Neither messages nor {@link #toString()} show secrets.
 */
final class ZooKeeperUri {

    private static final String DEFAULT_CHROOT = "/leasehold";
    private static final StoreAddress.Form FORM = new StoreAddress.Form(
            "zk://[user:password@]host[:port],host…[/chroot]",
            2181,
            List.of(
                    "tokenBase",
                    "readers",
                    "sessionTimeout",
                    "tickTime",
                    "tls",
                    "ca",
                    "caPassword",
                    "identity",
                    "identityPassword"));

    private final StoreAddress address;
    private final String chroot;

    private ZooKeeperUri(StoreAddress address) {
        this.address = address;
        this.chroot = chroot(address);
    }

    /**
     * Reads a URI.
     *
     * @throws IllegalArgumentException if it is malformed, has an unknown option, or names a file that is not there;
     *     secrets are not repeated
     */
    static ZooKeeperUri parse(StoreUri uri) {
        ZooKeeperUri parsed = new ZooKeeperUri(StoreAddress.parse(uri, FORM));
        parsed.check();
        return parsed;
    }

    private void check() {
        String user = address.user();
        if (user != null && user.indexOf(':') >= 0) {
            throw address.refused("a user of digest authentication cannot contain ':'");
        }
        tokens();
        tickTime();
        sessionTimeout();
        address.checkTls(List.of("ca", "identity"), List.of("caPassword", "identityPassword"));
    }

    private static String chroot(StoreAddress address) {
        if (address.path().isEmpty()) {
            return DEFAULT_CHROOT;
        }
        String path = "/" + address.path();
        if (!path.matches("(/[A-Za-z0-9._-]+)+") || path.matches(".*/\\.{1,2}(/.*)?")) {
            throw address.refused(
                    "\"" + path + "\" is no chroot; write names of letters, digits, '.', '_' and '-' between slashes");
        }
        if (path.equals("/zookeeper") || path.startsWith("/zookeeper/")) {
            throw address.refused("/zookeeper belongs to ZooKeeper itself; name another chroot");
        }
        return path;
    }

    /** {@code host:port} of each member that was named. */
    List<String> servers() {
        return address.servers();
    }

    /** The members, for the driver; without the chroot, which need not exist yet. */
    String connectString() {
        return String.join(",", servers());
    }

    /** The path of the locks: absolute, below the root, without a slash at its end. */
    String chroot() {
        return chroot;
    }

    /** {@code user:password}, or null. */
    @Nullable
    String credentials() {
        return address.user() == null ? null : address.user() + ":" + address.password();
    }

    /** The user, or null. */
    @Nullable
    String user() {
        return address.user();
    }

    /** Whether locks may have readers. */
    boolean readers() {
        return address.flag("readers");
    }

    /** The rule by which zxids become fencing tokens. */
    TokenBase tokens() {
        return new TokenBase(address.tokenBase(), readers(), toString());
    }

    /** The ensemble's tick: the longest time by which the leader's knowledge of a session lags behind a follower's. */
    Duration tickTime() {
        Duration tick = address.duration("tickTime");
        return tick == null ? Duration.ofSeconds(2) : tick;
    }

    /** The timeout that every session asks for, or null if it follows from the ttl. */
    @Nullable
    Duration sessionTimeout() {
        return address.duration("sessionTimeout");
    }

    boolean tls() {
        return address.flag("tls");
    }

    /** The file that an option names ({@code ca} or {@code identity}), or null. */
    @Nullable
    Path file(String option) {
        return address.file(option);
    }

    /** The password of that file, or null. */
    @Nullable
    String passwordOf(String option) {
        return address.option(option + "Password");
    }

    /** The ensemble for messages: without user and password. */
    @Override
    public String toString() {
        return "zk://" + connectString() + chroot;
    }
}

package io.leasehold.engine;

import io.leasehold.CredentialsProvider;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Finds the provider for a URI's scheme among those on the class path or module path. */
public final class StoreLookup {

    private StoreLookup() {}

    /**
     * Opens the store.
     *
     * @param credentials null if the URI names them, or there are none
     * @throws IllegalArgumentException if no provider knows the scheme; the message names the missing artefact
     */
    public static LockStore open(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        StoreProvider provider = provider(uri);
        return credentials == null ? provider.open(uri, runtime) : provider.open(uri, credentials, runtime);
    }

    /**
     * As {@link #open}, for a store that must exist: creates nothing there.
     *
     * @param credentials null if the URI names them, or there are none
     * @throws IllegalArgumentException if no provider knows the scheme; the message names the missing artefact
     */
    public static LockStore openExisting(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        return provider(uri).openExisting(uri, credentials, runtime);
    }

    /**
     * Returns the provider for the scheme.
     *
     * @throws IllegalArgumentException if no provider knows the scheme; the message names the missing artefact
     */
    public static StoreProvider provider(StoreUri uri) {
        Set<String> known = new TreeSet<>();
        for (StoreProvider provider : ServiceLoader.load(StoreProvider.class, StoreProvider.class.getClassLoader())) {
            if (provider.schemes().contains(uri.scheme())) {
                return provider;
            }
            known.addAll(provider.schemes());
        }
        String artefact = artefact(uri.scheme());
        throw new IllegalArgumentException("store URI \"" + uri.redacted() + "\": "
                + (artefact == null
                        ? "the scheme \"" + uri.scheme() + "\" is not known"
                                + SchemeSuggestion.after(uri.scheme(), known)
                        : "add the artefact io.leasehold:" + artefact + " for the scheme \"" + uri.scheme() + "\""));
    }

    /** Returns the artefact that knows the scheme; null if no artefact of this project knows it. */
    private static @Nullable String artefact(String scheme) {
        return switch (scheme) {
            case "redis", "rediss", "redlock" -> "leasehold-redis";
            case "redis-replicated", "redis-sentinel", "redis-cluster" -> "leasehold-redis";
            case "rediss-replicated", "rediss-sentinel", "rediss-cluster" -> "leasehold-redis";
            case "sqlite", "jdbc" -> "leasehold-jdbc";
            case "zk" -> "leasehold-zookeeper";
            case "etcd" -> "leasehold-etcd";
            default -> null;
        };
    }
}

package io.leasehold.engine;

import io.leasehold.CredentialsProvider;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.util.Map;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/** Finds the provider for a URI's scheme among those on the class path or module path. */
public final class StoreLookup {

    private static final Map<String, String> ARTEFACTS = Map.ofEntries(
            Map.entry("redis", "leasehold-redis"),
            Map.entry("rediss", "leasehold-redis"),
            Map.entry("redlock", "leasehold-redis"),
            Map.entry("redis-replicated", "leasehold-redis"),
            Map.entry("redis-sentinel", "leasehold-redis"),
            Map.entry("redis-cluster", "leasehold-redis"),
            Map.entry("rediss-replicated", "leasehold-redis"),
            Map.entry("rediss-sentinel", "leasehold-redis"),
            Map.entry("rediss-cluster", "leasehold-redis"),
            Map.entry("sqlite", "leasehold-jdbc"),
            Map.entry("jdbc", "leasehold-jdbc"),
            Map.entry("zk", "leasehold-zookeeper"),
            Map.entry("etcd", "leasehold-etcd"));

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
     * The provider for the scheme.
     *
     * @throws IllegalArgumentException if there is none; the message names the missing artefact
     */
    public static StoreProvider provider(StoreUri uri) {
        for (StoreProvider provider : ServiceLoader.load(StoreProvider.class, StoreProvider.class.getClassLoader())) {
            if (provider.schemes().contains(uri.scheme())) {
                return provider;
            }
        }
        String artefact = ARTEFACTS.get(uri.scheme());
        throw new IllegalArgumentException("store URI \"" + uri.redacted() + "\": "
                + (artefact == null
                        ? "the scheme \"" + uri.scheme() + "\" is not known" + SchemeSuggestion.after(uri.scheme())
                        : "add the artefact io.leasehold:" + artefact + " for the scheme \"" + uri.scheme() + "\""));
    }
}

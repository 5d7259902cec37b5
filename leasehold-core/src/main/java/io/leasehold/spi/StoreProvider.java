package io.leasehold.spi;

import io.leasehold.CredentialsProvider;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Opens stores by URI; {@link java.util.ServiceLoader} finds it. */
public interface StoreProvider {

    /** The URI schemes that it opens, in lower case, without the colon. */
    Set<String> schemes();

    /**
     * Refuses a URI that {@link #open} would refuse, without opening the store: called before it is opened in the
     * background. The default accepts every URI.
     *
     * @param credentials as for {@link #open(StoreUri, CredentialsProvider, LockRuntime)}, or null
     * @throws IllegalArgumentException as that of {@link #open}
     */
    default void check(StoreUri uri, @Nullable CredentialsProvider credentials) {}

    /**
     * Opens the store and verifies that it answers.
     *
     * @throws IllegalArgumentException if the URI is malformed; the message hides secrets
     * @throws io.leasehold.LockStoreException if the store cannot be reached or refuses
     */
    LockStore open(StoreUri uri, LockRuntime runtime);

    /**
     * As {@link #open(StoreUri, LockRuntime)}, with credentials from the provider for every connection. A store without
     * a login refuses it.
     *
     * @throws IllegalArgumentException if the URI is malformed or names credentials itself, or if the store cannot take them from a
     *     provider
     * @throws io.leasehold.LockStoreException if the store cannot be reached or refuses
     */
    default LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        throw withoutLogin(uri);
    }

    /** Returns the refusal of a provider of credentials by a store without a login. */
    static IllegalArgumentException withoutLogin(StoreUri uri) {
        return new IllegalArgumentException("store URI \"" + uri.redacted()
                + "\": this store takes no credentials from a provider; remove the provider");
    }

    /**
     * As {@link #open(StoreUri, LockRuntime)}, for clients that look at locks: creates no database, table, node or key. The default
     * opens the store: override it if opening may write.
     *
     * @param credentials null if the URI names them, or there are none
     * @throws io.leasehold.StoreUnavailableException if there is no such store, or it cannot be reached
     */
    default LockStore openExisting(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        return credentials == null ? open(uri, runtime) : open(uri, credentials, runtime);
    }
}

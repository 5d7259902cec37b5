package io.leasehold;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Supplies the credentials for each new connection to a store, so that they may change while leases are held: a rotated
 * password, a user created for an hour, a token that expires.
 *
 * <pre>{@code
 * LockClient locks = Leasehold.builder()
 *         .store("redis://db1")
 *         .credentials(CredentialsProvider.passwordFile("app", Path.of("/run/secrets/redis")))
 *         .connect();
 * }</pre>
 *
 * <p><b>When it is called.</b> At every connect and every new log-in, never for an established connection: one that the store
 * leaves open stays open. A rotation is therefore: the provider supplies the new credentials, the old ones are revoked at the
 * store, and the connections that the store closes are reopened with the new ones. Leases are renewed over those, and waiters
 * go on. If the store rejects the credentials after it has once accepted the client, the provider is called again from time to
 * time; an attempt ends with that error when its patience ends.
 *
 * <p><b>Threads.</b> It is called on a callback thread, never on one that delivers replies, runs timers or belongs to a
 * caller, and may block: only connections wait for it, so it should answer within a second or two, and cache what it fetched
 * for as long as that is valid. After ten seconds it counts as failed. One client has one call under way at a time, and makes
 * no other before a provider that hangs has answered. Several connections may use one answer.
 *
 * <p><b>Errors.</b> An exception counts as a store that cannot be reached now: {@link StoreUnavailableException} when a client
 * is opened, a retry later. Its message is not repeated, since it may contain a secret; it is the cause.
 */
@FunctionalInterface
public interface CredentialsProvider {

    /**
     * The credentials for a connection that is being opened.
     *
     * @throws Exception if there are none at the moment
     */
    Credentials credentials() throws Exception;

    /**
     * A password in a file, read at each call: for files that Kubernetes, systemd or a Vault agent writes and updates. It is
     * UTF-8; one line feed at its end, with or without carriage return, is not part of it.
     *
     * @param user the password's user, or null for a password alone
     */
    static CredentialsProvider passwordFile(@Nullable String user, Path file) {
        Objects.requireNonNull(file, "file");
        return () -> {
            String text;
            try {
                text = Files.readString(file, StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new StoreUnavailableException(
                        "the password file " + file + " cannot be read as UTF-8 ("
                                + e.getClass().getSimpleName() + ")",
                        null);
            }
            String password = text.replaceFirst("\\r?\\n\\z", "");
            if (password.isEmpty()) {
                throw new StoreUnavailableException("the password file " + file + " is empty", null);
            }
            return user == null ? Credentials.ofPassword(password) : Credentials.of(user, password);
        };
    }
}

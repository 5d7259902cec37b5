package io.leasehold;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Supplies the credentials for each new connection to a store, so that they can change while leases are held: a rotated
 * password, a short-lived user, a token that expires.
 *
 * <pre>{@code
 * LockClient locks = Leasehold.builder()
 *         .store("redis://db1")
 *         .credentials(CredentialsProvider.passwordFile("app", Path.of("/run/secrets/redis")))
 *         .connect();
 * }</pre>
 *
 * <p><b>When it is called.</b> At every connect and every new login, never for an established connection: a connection
 * that the store leaves open stays open. A rotation therefore has three steps: the provider supplies the new
 * credentials, an operator revokes the old ones at the store, and Leasehold reopens the connections that the store
 * closes, with the new credentials. Leases are renewed over the new connections, and waiters keep waiting. If the store
 * rejects the credentials after it has once accepted the client, the provider is called again periodically; an attempt
 * fails with that error when its patience ends.
 *
 * <p><b>Threads.</b> The provider is called on a callback thread, never on one that delivers replies, runs timers or
 * belongs to a caller. It may block, but connections wait for it: it should answer within a second or two, and cache
 * its credentials while they are valid. After ten seconds the call counts as failed. Each client makes one call at a
 * time, and no other while the provider hangs. Several connections may use one answer.
 *
 * <p><b>Errors.</b> An exception has the effect of an unreachable store: {@link StoreUnavailableException} while a
 * client is opened, a retry later. Leasehold does not repeat the exception's message, which may contain a secret, but
 * attaches the exception as the cause.
 */
@FunctionalInterface
public interface CredentialsProvider {

    /**
     * The credentials for a connection that is being opened.
     *
     * @throws Exception if no credentials are available at the moment
     */
    Credentials credentials() throws Exception;

    /**
     * A provider that reads a password from a file at each call: for files that Kubernetes, systemd or a Vault agent
     * writes and updates. The file is UTF-8; one line feed at its end, with or without a carriage return, is not part
     * of the password.
     *
     * @param user the password's user, or null for a password without a user
     */
    static CredentialsProvider passwordFile(@Nullable String user, Path file) {
        Objects.requireNonNull(file, "file");
        return () -> {
            String text;
            try {
                text = Files.readString(file, StandardCharsets.UTF_8);
            } catch (NoSuchFileException e) {
                throw new StoreUnavailableException(
                        "the password file " + file + " does not exist: create it, or correct its path", null);
            } catch (AccessDeniedException e) {
                throw new StoreUnavailableException(
                        "the password file " + file + " cannot be read: give this process the permission to read it",
                        null);
            } catch (CharacterCodingException e) {
                throw new StoreUnavailableException(
                        "the password file " + file + " is not UTF-8: write the password in UTF-8", null);
            } catch (IOException e) {
                String kind = e.getClass().getSimpleName();
                throw new StoreUnavailableException(
                        "the password file " + file + " cannot be read (" + kind + "): check that it is a regular file",
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

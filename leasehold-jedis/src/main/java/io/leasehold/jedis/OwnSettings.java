package io.leasehold.jedis;

import io.leasehold.Credentials;
import io.leasehold.redis.topology.RedisUri;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.SslVerifyMode;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * Connects to the servers of a store URI with RESP2, since its handshake needs no rights and every proxy supports it.
 */
final class OwnSettings implements JedisDriver.Ways {

    private static final int HANDSHAKE_MILLIS = 2_000;
    private static final String STORE_TYPE = "PKCS12";
    /** The password of certificates in memory, which are no secret. */
    private static final String STORE_PASSWORD = "certificates";

    @Override
    public Connection connect(RedisUri server, @Nullable Credentials login) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder()
                // Without HELLO: a server speaks RESP2 unless a client requests another protocol.
                .serverDefaultProtocol()
                .connectionTimeoutMillis(HANDSHAKE_MILLIS)
                .socketTimeoutMillis(HANDSHAKE_MILLIS)
                .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                .database(server.database());
        char[] password = login == null ? server.password() : login.password();
        if (password != null) {
            config.user(login == null ? server.user() : login.user()).password(new String(password));
        }
        if (server.tls()) {
            config.sslOptions(tls(server.certificates()));
        }
        return new Connection(new HostAndPort(server.host(), server.port()), config.build());
    }

    /** Trusts these certificates, or those of the platform; always verifies the host name. */
    private static SslOptions tls(@Nullable String file) {
        SslOptions.Builder options = SslOptions.builder().sslVerifyMode(SslVerifyMode.FULL);
        if (file == null) {
            return options.build();
        }
        byte[] store = store(file);
        return options.trustStoreType(STORE_TYPE)
                .truststore(() -> new ByteArrayInputStream(store), STORE_PASSWORD.toCharArray())
                .build();
    }

    /** The certificates of a PEM file, in the form that Jedis reads. */
    private static byte[] store(String file) {
        try (InputStream in = new FileInputStream(file);
                ByteArrayOutputStream out = new ByteArrayOutputStream()) {
            KeyStore trusted = KeyStore.getInstance(STORE_TYPE);
            trusted.load(null, null);
            int number = 0;
            for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                trusted.setCertificateEntry("ca" + number++, one);
            }
            trusted.store(out, STORE_PASSWORD.toCharArray());
            return out.toByteArray();
        } catch (IOException | GeneralSecurityException e) {
            throw new JedisConnectionException("the certificates in " + file + " cannot be read: " + e.getMessage(), e);
        }
    }
}

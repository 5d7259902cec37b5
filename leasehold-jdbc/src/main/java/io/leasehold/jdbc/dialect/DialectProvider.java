package io.leasehold.jdbc.dialect;

import java.util.Set;

/**
 * Provides a dialect for URLs of databases that this artefact does not know; {@link java.util.ServiceLoader} finds it.
 * With {@link io.leasehold.jdbc.JdbcStores#over(javax.sql.DataSource, Dialect)} a dialect needs no provider.
 */
public interface DialectProvider {

    /**
     * The text between {@code jdbc:} and the next colon of its URLs, in lower case, such as {@code oracle}. A provider
     * cannot replace a subprotocol that this artefact knows.
     */
    Set<String> subprotocols();

    /** The dialect. */
    Dialect dialect();
}

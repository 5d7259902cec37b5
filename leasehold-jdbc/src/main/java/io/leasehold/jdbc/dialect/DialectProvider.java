package io.leasehold.jdbc.dialect;

import java.util.Set;

/**
 * A dialect that URLs lead to: found by {@link java.util.ServiceLoader}, for databases that this artefact does not know. With
 * {@link io.leasehold.jdbc.JdbcStores#over(javax.sql.DataSource, Dialect)} a dialect needs no provider.
 */
public interface DialectProvider {

    /**
     * The text between {@code jdbc:} and the next colon of its URLs, in lower case, such as {@code oracle}. A subprotocol that
     * this artefact knows stays with it.
     */
    Set<String> subprotocols();

    /** The dialect. */
    Dialect dialect();
}

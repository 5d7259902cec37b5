package io.vertx.core;

/**
 * Stands for the type of this name in Vert.x, which is not on the class path of the tests.
 *
 * @param <T> the result
 */
public interface Future<T> {}

#pragma once

namespace thrust
{

template <class T> struct counting_iterator {
    T first;
    explicit counting_iterator(T first) : first(first)
    {
    }
    T operator[](long i) const
    {
        return first + (T)i;
    }
};

} // namespace thrust

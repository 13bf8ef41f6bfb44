#pragma once

namespace thrust
{

template <class OF, class FROM> struct transform_iterator {
    FROM from;
    OF of;
    auto operator[](long i) const
    {
        return of(from[i]);
    }
};
template <class OF, class FROM>
transform_iterator<OF, FROM> make_transform_iterator(FROM from, OF of)
{
    return {from, of};
}

} // namespace thrust
